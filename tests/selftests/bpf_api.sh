# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # what is set here or there is used there or here
# What the tests of libmlcc with the BPF carrier share.

# shellcheck source=tests/selftests/bpf_common.sh
. "$(dirname "${BASH_SOURCE[0]}")/bpf_common.sh"
# shellcheck source=tests/selftests/api_common.sh
. "$(dirname "${BASH_SOURCE[0]}")/api_common.sh"
# shellcheck source=tests/selftests/pairs.sh
. "$(dirname "${BASH_SOURCE[0]}")/pairs.sh"
