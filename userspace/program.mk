# SPDX-License-Identifier: GPL-2.0
#
# How the objects of mlccd, mlcc-ctl and mlcc-dcqcn are made. Included after BUILD, WARN, NAMES and
# HEADERS are set, and vpath says where those sources are that are not here.
HARDEN	:= -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE
LINK	:= -pie -Wl,-z,relro,-z,now
OBJS	:= $(NAMES:%=$(BUILD)/%.o)

$(BUILD)/%.o: %.c $(HEADERS) $(MAKEFILE_LIST)
	@mkdir -p $(@D)
	$(CC) $(WARN) $(HARDEN) $(CFLAGS) -c $< -o $@

clean:
	rm -rf $(BUILD)

.PHONY: all clean
.DELETE_ON_ERROR:
