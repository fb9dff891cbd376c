# SPDX-License-Identifier: GPL-2.0
#
# mlcc: `make help` says what there is.

CLANG	?= clang
BPFTOOL	?= bpftool
KERNELS	?= 6.1 6.12 7.2
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
LOADER	:= build/userspace/mlcc-bpf/mlcc-bpf
DAEMON	:= build/userspace/mlccd/mlccd
TUNER	:= build/userspace/mlcc-dcqcn/mlcc-dcqcn
PLANNER	= $(DESTDIR)$(PREFIX)/lib/mlcc-plan
PLUGIN	:= build/userspace/nccl/libnccl-profiler-mlcc.so
SHIM	:= build/userspace/nccl-net/libnccl-net-mlcc.so
HINT	:= build/userspace/libmlcc-hint/libmlcc-hint
MODULES	= $(DESTDIR)/lib/modules/$(KERNEL)/updates
# Debian's interpreter has matplotlib; one that comes first in PATH need not
PYTHON	?= $(firstword $(wildcard /usr/bin/python3) python3)

has	= $(shell command -v $(1) 2>/dev/null)
KDIR	?= /lib/modules/$(KERNEL)/build

# What this machine cannot build, and why; empty means that it can.
WHY_BPF		:= $(or $(if $(call has,$(CLANG)),,no $(CLANG)),$(if $(call has,$(BPFTOOL)),,no \
		   $(BPFTOOL)),$(if $(wildcard /sys/kernel/btf/vmlinux),,this kernel has no BTF))
WHY_MODULE	:= $(or $(if $(wildcard Kbuild),,tcp_mlcc is not in this tree),$(if \
		   $(wildcard $(KDIR)/Makefile),,no headers of the running kernel $(KERNEL)))

# ns-3 comes as a wheel: libraries and headers, in the cache
NS3		:= $(wildcard $(shell tests/deps/install.sh --sim)/include)
WHY_SIM		:= $(or $(if $(call has,$(CXX)),,no $(CXX)),$(if $(NS3),,no ns-3: make sim))

# $(call unless,REASON,TARGET)
unless = $(if $(strip $(1)),skip-$(2),$(2))

# what is missing of $(1), a list of headers
missing	= $(strip $(foreach h,$(1),$(if $(wildcard /usr/include/$(h) /usr/local/include/$(h)),,$(h))))
WHY_USERSPACE	:= $(or $(WHY_BPF),$(addprefix no ,$(call missing,libmnl/libmnl.h json-c/json.h \
		   microhttpd.h systemd/sd-event.h)))

all: lab unit nccl rdma $(call unless,$(WHY_BPF),bpf) $(call unless,$(WHY_MODULE),module) \
	$(call unless,$(WHY_USERSPACE),fuzz) $(call unless,$(WHY_USERSPACE),tuner) \
	$(call unless,$(WHY_SIM),sim)

# the lab, and what shows its traces to the phase tracker alone
lab:
	@$(MAKE) --no-print-directory -C tests/lab
	@$(MAKE) --no-print-directory -C tests/bench/learning

unit:
	@$(MAKE) --no-print-directory -C tests/unit

bpf: carrier
	@$(MAKE) --no-print-directory -C bpf

# of it what the lab needs
carrier:
	@$(MAKE) --no-print-directory -C userspace/mlcc-bpf

module:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

# libmlcc holds the tagger's program, so it comes after the BPF carrier
userspace: bpf
	@$(MAKE) --no-print-directory -C userspace/libmlcc
	@$(MAKE) --no-print-directory -C userspace/mlccd
	@$(MAKE) --no-print-directory -C tests/fake mlccd
	@$(MAKE) --no-print-directory -C userspace/mlcc-ctl

# what is installed, without tests
programs: bpf
	@$(MAKE) --no-print-directory -C userspace/libmlcc
	@$(MAKE) --no-print-directory -C userspace/mlccd
	@$(MAKE) --no-print-directory -C userspace/mlcc-ctl
	@$(MAKE) --no-print-directory -C userspace/mlcc-dcqcn
	@$(MAKE) --no-print-directory -C userspace/libmlcc-hint
	@$(MAKE) --no-print-directory -C userspace/nccl
	@$(MAKE) --no-print-directory -C userspace/nccl-net

# what mlccd and libmlcc read from others, under libFuzzer
fuzz: userspace
	@$(MAKE) --no-print-directory -C tests/fuzz

tuner: userspace
	@$(MAKE) --no-print-directory -C userspace/mlcc-dcqcn
	@$(MAKE) --no-print-directory -C tests/fake dcqcn

# needs neither mlccd nor a carrier
hint:
	@$(MAKE) --no-print-directory -C userspace/libmlcc-hint

# needs neither NCCL nor a GPU
nccl: hint
	@$(MAKE) --no-print-directory -C userspace/nccl
	@$(MAKE) --no-print-directory -C userspace/nccl-net
	@$(MAKE) --no-print-directory -C tests/nccl
	@$(MAKE) --no-print-directory -C tests/nccl-net

# the NIC's firmware as it is tested, on the host and for rv64; the simulator of RoCE flows
rdma:
	@$(MAKE) --no-print-directory -C tests/pcc
	@$(MAKE) --no-print-directory -C tests/dcqcn

# clusters, with ns-3, which is fetched if it is not there
sim:
	$(if $(NS3),,@tests/deps/install.sh sim)
	@$(MAKE) --no-print-directory -C tests/sim

skip-bpf:
	@echo "the BPF carrier is not built: $(WHY_BPF)"

skip-fuzz:
	@echo "mlccd and mlcc-ctl are not built: $(WHY_USERSPACE)"

skip-tuner:
	@echo "mlcc-dcqcn is not built: $(WHY_USERSPACE)"

skip-module:
	@echo "the module is not built: $(WHY_MODULE)"

skip-sim:
	@echo "the simulator of clusters is not built: $(WHY_SIM)"

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
	$(call building,carrier lab userspace hint)
	@$(PYTHON) tests/demo_train.py

planner:
	@tests/deps/install.sh planner
	@userspace/plan/mlcc-plan --help

# What cannot be installed fails in the suite deps, by its name.
check check-all check-fast:
	@tests/deps/install.sh all || echo "deps: going on with what is there"
	@$(PYTHON) tests/check $(patsubst check-%,--%,$(filter-out check,$@)) $(SUITES)

# Apart from the others: two kernels are built for it.
check-debug:
	@tests/deps/install.sh demo guests debug || echo "deps: going on with what is there"
	@$(PYTHON) tests/check --debug $(SUITES)

# Per kernel, with the compiler that built it: all warnings are errors, then sparse.
check-matrix:
	@tests/deps/install.sh demo build guests
	@status=0; \
	for kernel in $(KERNELS); do \
		tests/vm/vm fetch $$kernel && \
		tests/vm/vm build $$kernel && \
		tests/vm/vm sparse $$kernel || status=1; \
	done; \
	tests/vm/vm checkpatch || status=1; \
	exit $$status

picture:
	@tests/deps/install.sh demo
	$(call building,carrier lab)
	@$(PYTHON) tests/demo.py
	cp build/demo.png Documentation/effect.png

install: install-plan
	install -d $(SBIN) $(HEADERS) $(HEADERS)/uapi
	install -m 644 include/mlcc/*.h $(HEADERS)
	install -m 644 include/mlcc/uapi/*.h $(HEADERS)/uapi
	$(if $(wildcard userspace/libmlcc/libmlcc.a),install -D -m 644 -t $(LIB) \
		userspace/libmlcc/libmlcc.a && install -m 644 userspace/libmlcc/libmlcc.h $(HEADERS))
	install -D -m 644 tcp_mlcc/tcp_mlcc.7 $(MAN7)/tcp_mlcc.7
	install -D -m 644 userspace/mlcc-pcc/mlcc-pcc.8 $(MAN8)/mlcc-pcc.8
	install -D -m 644 userspace/mlcc-pcc/mlcc-pcc.bash $(COMPLETION)/mlcc-pcc
	$(if $(wildcard $(DAEMON)),$(MAKE) --no-print-directory install-userspace)
	$(if $(wildcard $(TUNER)),$(MAKE) --no-print-directory install-tuner)
	$(if $(wildcard $(PLUGIN)),install -D -m 755 -t $(LIB) $(PLUGIN))
	$(if $(wildcard $(SHIM)),install -D -m 755 -t $(LIB) $(SHIM))
	$(if $(wildcard $(HINT).so.0),$(MAKE) --no-print-directory install-hint)
	$(if $(wildcard $(LOADER)),$(MAKE) --no-print-directory install-bpf)
	$(if $(wildcard tcp_mlcc/tcp_mlcc.ko),install -d $(MODULES))
	$(if $(wildcard tcp_mlcc/tcp_mlcc.ko),install -m 644 tcp_mlcc/tcp_mlcc.ko $(MODULES))
	$(if $(DESTDIR),,$(if $(wildcard tcp_mlcc/tcp_mlcc.ko),depmod $(KERNEL)))

install-bpf:
	install -d $(SBIN) $(MAN8) $(UNITS) $(COMPLETION)
	install -m 644 userspace/mlcc-bpf/mlcc-bpf.8 $(MAN8)
	install -m 755 $(LOADER) $(SBIN)
	install -m 644 userspace/mlcc-bpf/mlcc-bpf.bash $(COMPLETION)/mlcc-bpf
	sed 's|/usr/local/sbin|$(SBIN:$(DESTDIR)%=%)|' userspace/mlcc-bpf/mlcc-carrier.service > \
		$(UNITS)/mlcc-carrier.service

# An administrator's configuration stays as it is.
install-userspace:
	install -d $(SBIN) $(MAN8) $(UNITS) $(COMPLETION) $(DESTDIR)/etc/mlcc
	install -m 755 $(DAEMON) build/userspace/mlcc-ctl/mlcc-ctl $(SBIN)
	install -m 644 userspace/mlccd/mlccd.8 userspace/mlcc-ctl/mlcc-ctl.8 $(MAN8)
	install -m 644 userspace/mlccd/mlccd.socket $(UNITS)
	sed 's|/usr/local/sbin|$(SBIN:$(DESTDIR)%=%)|' userspace/mlccd/mlccd.service > $(UNITS)/mlccd.service
	install -m 644 userspace/mlcc-ctl/mlcc-ctl.bash $(COMPLETION)/mlcc-ctl
	$(if $(wildcard $(DESTDIR)/etc/mlcc/mlccd.conf),,install -m 644 userspace/mlccd/mlccd.conf \
		$(DESTDIR)/etc/mlcc)

install-hint:
	install -d $(HEADERS) $(LIB)
	install -m 644 userspace/libmlcc-hint/mlcc_hint.h $(HEADERS)
	install -m 755 $(HINT).so.0 $(LIB)
	install -m 644 $(HINT).a $(LIB)
	ln -sf $(notdir $(HINT)).so.0 $(LIB)/$(notdir $(HINT)).so
	$(if $(DESTDIR),,$(if $(call has,ldconfig),ldconfig))

install-tuner:
	install -d $(SBIN) $(MAN8) $(UNITS) $(COMPLETION)
	install -m 755 $(TUNER) $(SBIN)
	install -m 644 userspace/mlcc-dcqcn/mlcc-dcqcn.8 $(MAN8)
	sed 's|/usr/local/sbin|$(SBIN:$(DESTDIR)%=%)|' userspace/mlcc-dcqcn/mlcc-dcqcn@.service > \
		$(UNITS)/mlcc-dcqcn@.service
	install -m 644 userspace/mlcc-dcqcn/mlcc-dcqcn.bash $(COMPLETION)/mlcc-dcqcn

# Pure Python; OR-tools is looked for when it is wanted.
install-plan:
	install -d $(BIN) $(MAN1) $(COMPLETION) $(PLANNER)/mlccplan $(PLANNER)/mlcc_client
	install -m 755 userspace/plan/mlcc-plan $(BIN)
	install -m 644 userspace/plan/mlccplan/*.py $(PLANNER)/mlccplan
	install -m 644 userspace/python/mlcc_client/*.py $(PLANNER)/mlcc_client
	install -m 644 userspace/plan/mlcc-plan.1 $(MAN1)
	install -m 644 userspace/plan/mlcc-plan.bash $(COMPLETION)/mlcc-plan

uninstall:
	rm -f $(SBIN)/mlcc-dcqcn $(MAN8)/mlcc-dcqcn.8 $(UNITS)/mlcc-dcqcn@.service
	rm -f $(COMPLETION)/mlcc-dcqcn
	rm -f $(SBIN)/mlcc-pcc $(SBIN)/mlcc-pcc-jobs $(MAN8)/mlcc-pcc.8 $(COMPLETION)/mlcc-pcc
	rm -f $(BIN)/mlcc-plan $(MAN1)/mlcc-plan.1 $(COMPLETION)/mlcc-plan
	rm -rf $(PLANNER)
	rm -f $(SBIN)/mlcc-bpf $(MAN8)/mlcc-bpf.8 $(COMPLETION)/mlcc-bpf $(MODULES)/tcp_mlcc.ko
	rm -f $(SBIN)/mlccd $(SBIN)/mlcc-ctl $(MAN7)/tcp_mlcc.7 $(MAN8)/mlccd.8 $(MAN8)/mlcc-ctl.8
	rm -f $(UNITS)/mlccd.service $(UNITS)/mlccd.socket $(UNITS)/mlcc-carrier.service $(COMPLETION)/mlcc-ctl
	rm -f $(LIB)/$(notdir $(PLUGIN)) $(LIB)/$(notdir $(SHIM)) $(LIB)/libmlcc.a
	rm -f $(addprefix $(LIB)/$(notdir $(HINT)),.so .so.0 .a)
	rm -rf $(HEADERS)
	$(if $(DESTDIR),,$(if $(call has,depmod),-depmod $(KERNEL)))

clean:
	@$(MAKE) --no-print-directory -C tests/lab clean
	@$(MAKE) --no-print-directory -C bpf clean
	@$(MAKE) --no-print-directory -C userspace/libmlcc clean
	$(if $(WHY_MODULE),,$(MAKE) -C $(KDIR) M=$(CURDIR) clean)
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
	@echo "  make userspace     mlccd, mlcc-ctl and libmlcc"
	@echo "  make tuner         mlcc-dcqcn, for the DCQCN of RDMA NICs"
	@echo "  make hint          libmlcc-hint, for programs that announce their phases"
	@echo "  make nccl          NCCL's profiler plugin and the shim before its network, and their tests"
	@echo "  make rdma          the simulator of RoCE flows, and the firmware for programmable NICs as it"
	@echo "                     is tested; against the SDK: make -C rdma/pcc sdk DPA=bf3"
	@echo "  make sim           mlcc-sim, which simulates clusters; fetches ns-3 for that (66 MB)"
	@echo "  make install       mlcc-bpf, mlccd, mlcc-ctl, mlcc-dcqcn, mlcc-plan, the headers, and the"
	@echo "  make uninstall     module if it was built; PREFIX=$(PREFIX), DESTDIR and KDIR are honoured"
	@echo "  make clean         removes what was built; downloads stay in the cache"
	@echo
	@echo "The cache is \$$MLCC_CACHE, else \$$XDG_CACHE_HOME/mlcc, else ~/.cache/mlcc."

.PHONY: all lab unit bpf userspace programs fuzz hint nccl rdma sim module skip-bpf skip-fuzz skip-tuner skip-module \
	skip-sim \
	install-userspace install-bpf install-hint install-tuner install-plan tuner deps \
	demo demo-train planner check check-all check-fast \
	check-debug check-matrix carrier picture install uninstall clean help
