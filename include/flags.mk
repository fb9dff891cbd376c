# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What the Makefiles share.  CFLAGS, CPPFLAGS and LDFLAGS are the caller's, and come after what is ours;
# only tests set WERROR.
CFLAGS	?= -O2 -g
WERROR	=
# without make's own (MAKEFLAGS=R)
CC	?= cc
AR	?= ar
CLANG	?= clang
# Ubuntu's is a script that may refuse the running kernel, beside one that does its work
BPFTOOL	?= $(or $(shell for tool in bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool; do \
	   "$$tool" version >/dev/null 2>&1 && echo "$$tool" && break; done),bpftool)

# It wants an optimizer, and a distribution may have its own
OPTIMIZES := $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS))))
FORTIFY	:= $(if $(OPTIMIZES),$(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),, \
	   -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
HARDEN	:= -fstack-protector-strong $(FORTIFY)
# an archive is for any linker
ARCHIVED := -fno-lto
