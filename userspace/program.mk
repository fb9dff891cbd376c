# SPDX-License-Identifier: GPL-2.0
#
# How mlccd, mlcc-ctl, mlcc-dcqcn and mlcc-bpf are made.  Included after BUILD and NAMES are set, and vpath
# says where those sources are that are not here.  What programs share is in libraries, made once
# beside BUILD, of which the linker takes what is used:
#
#	common/		errors, options, JSON, files of the system, the client of mlccd
#	rdma/		NICs and their parameters, jobs that send by RDMA
#	libmlcc/	carriers, jobs, profiles
include ../../include/flags.mk
WARN	:= -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(WERROR) -Wno-missing-field-initializers \
	   -Wno-unused-parameter
LINK	= $(CC) $(CFLAGS) -fPIE -pie -Wl,-z,relro,-z,now $(LDFLAGS) $^ -o $@
HEADERS	:= $(wildcard *.h ../*/*.h ../../bpf/*.h ../../include/mlcc/*.h ../../include/mlcc/uapi/*.h)
OBJS	:= $(NAMES:%=$(BUILD)/%.o)
SHARED	:= $(BUILD)/../shared.a

$(BUILD)/%.o: %.c $(HEADERS) $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CC) $(WARN) $(HARDEN) -fPIE $(CPPFLAGS) $(CFLAGS) $(LTO) -c $< -o $@

$(SHARED): LTO := $(ARCHIVED)
$(SHARED): $(patsubst %.c,$(BUILD)/%.o,$(wildcard ../common/*.c ../rdma/*.c))
	rm -f $@
	$(AR) rcs $@ $^

clean:
	rm -rf $(BUILD)

.PHONY: all clean
.DELETE_ON_ERROR:
