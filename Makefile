# SPDX-License-Identifier: GPL-2.0
#
# mlcc: `make help` says what there is.

include include/flags.mk

# Whoever builds other things may have them in the environment: they are for make's command line.
unexport O BUILD SAN SKELETONS

KERNEL	:= $(shell uname -r)
PREFIX	?= /usr/local
BIN	= $(DESTDIR)$(PREFIX)/bin
SBIN	= $(DESTDIR)$(PREFIX)/sbin
LIB	= $(DESTDIR)$(PREFIX)/lib
HEADERS	= $(DESTDIR)$(PREFIX)/include/mlcc
MAN1	= $(DESTDIR)$(PREFIX)/share/man/man1
MAN7	= $(DESTDIR)$(PREFIX)/share/man/man7
MAN8	= $(DESTDIR)$(PREFIX)/share/man/man8
COMPLETION = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
UNITS	= $(DESTDIR)$(PREFIX)/lib/systemd/system
SYSUSERS = $(DESTDIR)$(PREFIX)/lib/sysusers.d
TOOLS	:= mlcc-bpf mlccd mlcc-ctl mlcc-dcqcn
PLANNER	= $(DESTDIR)$(PREFIX)/lib/mlcc-plan
PLUGINS	:= $(addprefix build/userspace/,nccl/libnccl-profiler-mlcc.so nccl-net/libnccl-net-mlcc.so \
	   ibverbs/libmlcc-ibverbs.so)
HINT	:= build/userspace/libmlcc-hint/libmlcc-hint
MODULES	= $(DESTDIR)/lib/modules/$(KERNEL)/updates
# Debian's interpreter has matplotlib; one that comes first in PATH need not
PYTHON	?= $(firstword $(wildcard /usr/bin/python3) python3)

has	= $(shell command -v $(1) 2>/dev/null)
KDIR	?= /lib/modules/$(KERNEL)/build
KERNEL_MAKE ?= $(if $(CROSS_COMPILE),,$(shell tcp_mlcc/compiler.sh $(KDIR)))

# What this machine cannot build, and why; empty means that it may.
WHY_module	:= $(or $(if $(wildcard Kbuild),,tcp_mlcc is not in this tree),$(if \
		   $(wildcard $(KDIR)/Makefile),,no headers of the running kernel $(KERNEL)),$(if \
		   $(word 2,$(CURDIR)),the kernel's Makefiles want a path without blanks))

# ns-3 comes as a wheel: libraries and headers, in the cache
NS3		:= $(wildcard $(shell tests/deps/install.sh --sim)/include)
WHY_sim		:= $(or $(if $(call has,$(CXX)),,no $(CXX)),$(if $(NS3),,no ns-3: make sim))

WHY_ibverbs	:= $(if $(wildcard /usr/include/infiniband/verbs.h),,no headers of libibverbs)

unless = $(if $(strip $(WHY_$(1))),skip-$(1),$(1))

# Plain `make` says in a line what cannot be built, and goes on with the rest.
GO_ON	:= $(if $(WERROR)$(filter-out all,$(MAKECMDGOALS)),,yes)
# $(call try,WHAT,NAME,COMMAND): NAME is of the log
try	= @$(if $(GO_ON),mkdir -p build/log; if $(3) >build/log/$(2) 2>&1; then cat build/log/$(2); else \
	echo "$(1) cannot be built: $$(grep -m 1 -E 'error:|not found|No such|[*]{3}' build/log/$(2) || \
	tail -n 1 build/log/$(2)) (build/log/$(2))"; fi,$(3))
# $(call part,WHAT,FOLDER,TARGETS)
part	= $(call try,$(1),$(subst /,-,$(2)),$(MAKE) --no-print-directory -C $(2) $(3))

all: programs $(call unless,module) lab unit fake nccl rdma fuzz $(call unless,sim)

# what is installed, without tests
programs: userspace hint plugins

bpf: carrier
	+$(call part,the tagger,bpf)

# of it what the lab needs
carrier:
	+$(call part,mlcc-bpf,userspace/mlcc-bpf)

# libmlcc holds the tagger's program
userspace: bpf
	+$(call part,libmlcc,userspace/libmlcc)
	+$(call part,mlccd,userspace/mlccd)
	+$(call part,mlcc-ctl,userspace/mlcc-ctl)
	+$(call part,mlcc-dcqcn,userspace/mlcc-dcqcn)

# needs neither mlccd nor a carrier
hint:
	+$(call part,libmlcc-hint,userspace/libmlcc-hint)

# need neither NCCL nor a GPU
plugins: $(call unless,ibverbs)
	+$(call part,NCCL's profiler plugin,userspace/nccl)
	+$(call part,the shim before NCCL's network,userspace/nccl-net)
	$(if $(wildcard /usr/include/slurm/spank.h),$(call try,Slurm's plugin,spank,mkdir -p build/userspace/slurm && \
		$(CC) -std=gnu11 -Wall -Wextra $(WERROR) -Wno-unused-parameter $(HARDEN) $(CFLAGS) $(LDFLAGS) -fPIC \
		-shared userspace/launchers/slurm/spank.c -o build/userspace/slurm/mlcc_spank.so),@echo \
		"Slurm's plugin is not built: no slurm/spank.h: libslurm-dev")

ibverbs:
	+$(call part,the library before libibverbs,userspace/ibverbs)

module:
	+$(call try,the module,module,$(MAKE) -C $(KDIR) $(KERNEL_MAKE) M=$(CURDIR) modules)

lab: hint
	+$(call part,the lab,tests/lab)

unit:
	+$(call part,unit tests,tests/unit)

# mlccd and mlcc-dcqcn without a carrier
fake: userspace
	+$(call part,the programs' tests,tests/fake)

nccl: plugins
	+$(call part,tests of NCCL's profiler plugin,tests/nccl)
	+$(call part,tests of the shim,tests/nccl-net)

# the NIC's firmware as it is tested, on the host and for rv64; RoCE networks drawn at random
rdma:
	+$(call part,tests of the NIC's firmware,tests/pcc)
	+$(call part,RoCE networks drawn at random,tests/dcqcn)

# what mlccd reads from others, under libFuzzer
fuzz:
	+$(call part,fuzz targets,tests/fuzz)

# clusters, with ns-3, which is fetched if it is not there
sim:
	$(if $(NS3),,@tests/deps/install.sh sim)
	+$(call part,the simulator of clusters,tests/sim)

skip-module skip-ibverbs skip-sim: skip-%:
	@echo "$* is not built: $(WHY_$*)"

deps:
	@tests/deps/install.sh demo build

# $(call building,TARGETS): a line, and what was said only if it fails
building = @echo "building $(1)"; mkdir -p build; $(MAKE) --no-print-directory $(1) >build/make.log 2>&1 || \
	{ tail -n 40 build/make.log; exit 1; }

demo:
	@tests/deps/install.sh demo
	$(call building,carrier lab)
	@$(PYTHON) tests/demo.py $(ITERATIONS)

# The jobs are real here, so PyTorch and Open MPI are installed, too.
demo-train:
	@tests/deps/install.sh demo build train
	$(call building,carrier lab userspace)
	@status=0; for set in ddp-2 mpi-2; do \
		printf '\n%s: each job alone, then all together\n' "$$set"; \
		$(PYTHON) tests/lab/real/mlcc-train "$$set" --json "build/$$set.json" \
			--plot "build/$$set.png" || status=1; \
	done; \
	printf '\nPictures and figures: build/ddp-2.png, .json, build/mpi-2.png, .json\n'; \
	exit "$$status"

planner:
	@tests/deps/install.sh planner
	@userspace/plan/mlcc-plan --help

# What cannot be installed fails in the suite deps, by its name.
check check-all check-fast check-debug:
	@tests/deps/install.sh $(if $(filter %debug,$@),demo guests debug,all) || \
		echo "deps: going on with what is there"
	@$(PYTHON) tests/check $(patsubst check-%,--%,$(filter-out check,$@)) $(SUITES)

# Per kernel, with the compiler that built it: all warnings are errors, then sparse.
check-matrix:
	@tests/deps/install.sh demo build guests
	tests/vm/vm fetch all && tests/vm/vm build all && tests/vm/vm sparse all && tests/vm/vm checkpatch

picture:
	@tests/deps/install.sh demo
	$(call building,carrier lab)
	@$(PYTHON) tests/demo.py
	$(PYTHON) -c 'from PIL import Image; Image.open("build/demo.png").convert("RGB").quantize( \
		16, dither=0).save("Documentation/effect.png", optimize=True)'

# $(call unit,FILE): with where the program is, blanks as systemd wants them; for all to read,
# whatever root's umask is
empty	:=
where	= $(subst $(empty) $(empty),\\x20,$(subst |,,$(subst |$(DESTDIR),,|$(1))))
unit	= sed 's|/usr/local/sbin|$(call where,$(SBIN))|; s|/usr/local/bin|$(call where,$(BIN))|' $(1) | \
	  install -D -m 644 /dev/stdin "$(UNITS)/$(notdir $(1))"

install:
	install -d "$(SBIN)" "$(HEADERS)" "$(HEADERS)/uapi"
	install -m 644 include/mlcc/*.h "$(HEADERS)"
	install -m 644 include/mlcc/uapi/*.h "$(HEADERS)/uapi"
	$(if $(wildcard userspace/libmlcc/libmlcc.a),install -D -m 644 -t "$(LIB)" \
		userspace/libmlcc/libmlcc.a && install -m 644 userspace/libmlcc/libmlcc.h "$(HEADERS)")
	install -D -m 644 tcp_mlcc/tcp_mlcc.7 "$(MAN7)/tcp_mlcc.7"
	install -D -m 644 userspace/mlcc-pcc/mlcc-pcc.8 "$(MAN8)/mlcc-pcc.8"
	install -D -m 644 userspace/completion.bash "$(COMPLETION)/mlcc-pcc"
	$(MAKE) --no-print-directory install-plan $(if $(wildcard $(HINT).so.0),install-hint) \
		$(foreach t,$(TOOLS),$(if $(wildcard build/userspace/$t/$t),install-$t))
	$(if $(wildcard $(PLUGINS)),install -D -m 755 -t "$(LIB)" $(wildcard $(PLUGINS)))
	$(if $(wildcard tcp_mlcc/tcp_mlcc.ko),install -d "$(MODULES)")
	$(if $(wildcard tcp_mlcc/tcp_mlcc.ko),install -m 644 tcp_mlcc/tcp_mlcc.ko "$(MODULES)")
	$(if $(DESTDIR),,$(if $(wildcard tcp_mlcc/tcp_mlcc.ko),depmod $(KERNEL)))

# With a tool its page, its completion and its units.
$(TOOLS:%=install-%): install-%:
	install -D -m 755 build/userspace/$*/$* "$(if $(filter mlcc-ctl,$*),$(BIN),$(SBIN))/$*"
	install -D -m 644 userspace/$*/$*.8 "$(MAN8)/$*.8"
	$(if $(filter-out mlccd,$*),install -D -m 644 userspace/completion.bash "$(COMPLETION)/$*")
	$(foreach u,$(wildcard userspace/$*/*.service),$(call unit,$u) &&) :

# An administrator's configuration stays as it is.
install-mlccd: install-mlccd-rest
install-mlccd-rest:
	install -D -m 644 -t "$(UNITS)" userspace/mlccd/*.socket
	install -D -m 644 userspace/mlccd/mlcc.sysusers "$(SYSUSERS)/mlcc.conf"
	$(if $(DESTDIR),,$(if $(call has,systemd-sysusers),-systemd-sysusers "$(SYSUSERS)/mlcc.conf"))
	[ -e "$(DESTDIR)/etc/mlcc/mlccd.conf" ] || \
		install -D -m 644 -t "$(DESTDIR)/etc/mlcc" userspace/mlccd/mlccd.conf

install-hint:
	install -d "$(HEADERS)" "$(LIB)"
	install -m 644 userspace/libmlcc-hint/mlcc_hint.h "$(HEADERS)"
	install -m 755 $(HINT).so.0 "$(LIB)"
	install -m 644 $(HINT).a "$(LIB)"
	ln -sf $(notdir $(HINT)).so.0 "$(LIB)/$(notdir $(HINT)).so"
	$(if $(DESTDIR),,$(if $(call has,ldconfig),ldconfig))

# Pure Python; OR-tools is looked for when it is wanted.
install-plan:
	install -d "$(BIN)" "$(MAN1)" "$(COMPLETION)" "$(PLANNER)/mlccplan" "$(PLANNER)/mlcc_client"
	install -m 755 userspace/plan/mlcc-plan "$(BIN)"
	install -m 644 userspace/plan/mlccplan/*.py "$(PLANNER)/mlccplan"
	install -m 644 userspace/python/mlcc_client/*.py "$(PLANNER)/mlcc_client"
	install -m 644 userspace/plan/mlcc-plan.1 "$(MAN1)"
	install -m 644 userspace/plan/mlcc-plan.bash "$(COMPLETION)/mlcc-plan"

uninstall:
	rm -f $(foreach t,$(TOOLS) mlcc-plan mlcc-pcc mlcc-pcc-jobs,"$(BIN)/$t" "$(SBIN)/$t" "$(MAN1)/$t.1" \
		"$(MAN8)/$t.8" "$(COMPLETION)/$t")
	rm -f $(foreach u,$(notdir $(wildcard userspace/*/*.service userspace/*/*.socket)),"$(UNITS)/$u")
	rm -f "$(MODULES)/tcp_mlcc.ko" "$(MAN7)/tcp_mlcc.7" "$(SYSUSERS)/mlcc.conf"
	rm -rf "$(PLANNER)"
	rm -f $(foreach l,$(notdir $(PLUGINS)) libmlcc.a,"$(LIB)/$l")
	rm -f "$(LIB)/$(notdir $(HINT)).so" "$(LIB)/$(notdir $(HINT)).so.0" "$(LIB)/$(notdir $(HINT)).a"
	rm -rf "$(HEADERS)"
	$(if $(DESTDIR),,$(if $(call has,depmod),-depmod $(KERNEL)))

clean:
	@$(MAKE) --no-print-directory -C tests/lab clean
	@$(MAKE) --no-print-directory -C bpf clean
	@$(MAKE) --no-print-directory -C userspace/libmlcc clean
	$(if $(WHY_module),,-$(MAKE) -C $(KDIR) $(KERNEL_MAKE) M=$(CURDIR) clean)
	rm -rf build

help:
	@echo "mlcc: congestion control that lets training jobs on one network take turns"
	@echo
	@echo "first:"
	@echo "  make demo          installs what is missing, builds, and shows the effect: three jobs"
	@echo "                     under CUBIC, then under mlcc (as root, under three minutes)"
	@echo "  make check         the tests, the ones in virtual machines too (as root; half an hour on"
	@echo "                     two CPUs without KVM)"
	@echo
	@echo "more:"
	@echo "  make               builds what this machine can, and says what it cannot, and why"
	@echo "  make deps          installs what that needs: two groups of tests/deps/packages"
	@echo "  make check-fast    the tests without the virtual machines (minutes)"
	@echo "  make check-all     all tests under all kernels, sanitizers, a minute of each fuzz target"
	@echo "                     (hours); SUITES=\"unit lint\" runs only those of any of the three"
	@echo "  make check-debug   the module under kernels with KASAN, lockdep, kmemleak, KCSAN, which are"
	@echo "                     built for it, once (2 GB in the cache)"
	@echo "  make check-matrix  the module on every kernel: W=1, sparse, checkpatch"
	@echo "  make demo-train    real training jobs instead of emulated ones: installs PyTorch (150 MB)"
	@echo "                     and Open MPI; about five minutes"
	@echo "  make planner       installs what mlcc-plan needs, and says how to use it"
	@echo "  make picture       draws Documentation/effect.png"
	@echo "  make programs      what is installed, without tests; ends at what cannot be built"
	@echo "  make userspace     mlccd, mlcc-ctl, mlcc-dcqcn and libmlcc"
	@echo "  make hint          libmlcc-hint, for programs that announce their phases"
	@echo "  make nccl          NCCL's profiler plugin and the shim before its network, and their tests"
	@echo "  make rdma          RoCE networks drawn at random, and the firmware for programmable NICs as it"
	@echo "                     is tested; against the SDK: make -C rdma/pcc sdk DPA=bf3"
	@echo "  make sim           mlcc-sim, which simulates clusters; fetches ns-3 for that (66 MB)"
	@echo "  make install       mlcc-bpf, mlccd, mlcc-ctl, mlcc-dcqcn, mlcc-plan, the headers, and the"
	@echo "  make uninstall     module if it was built; PREFIX=$(PREFIX), DESTDIR and KDIR are honoured"
	@echo "  make clean         removes what was built; downloads stay in the cache"
	@echo
	@echo "The cache is \$$MLCC_CACHE, else \$$XDG_CACHE_HOME/mlcc, else ~/.cache/mlcc."

.PHONY: all lab unit bpf userspace programs plugins fake fuzz hint nccl rdma sim module skip-module skip-sim ibverbs skip-ibverbs \
	$(TOOLS:%=install-%) install-mlccd-rest install-hint install-plan deps \
	demo demo-train planner check check-all check-fast \
	check-debug check-matrix carrier picture install uninstall clean help
