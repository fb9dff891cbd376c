# SPDX-License-Identifier: BSD-2-Clause
"""Plans when training jobs that share links communicate: the package behind mlcc-plan."""
