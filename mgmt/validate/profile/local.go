package profile

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// VIPWarning describes clients that are unexpectedly excluded by the farm's address; "" if
// all are served.
func VIPWarning(f *farm.Farm) string {
	switch {
	case f.VIP == netip.IPv6Unspecified():
		return "vip :: serves clients by IPv6 only; clients by IPv4 need a second farm with vip 0.0.0.0"
	case f.InKernel() && f.VIP.IsLoopback():
		return fmt.Sprintf("vip %s does not serve clients on this machine: the kernel, which carries the farm, forwards nothing from a loopback address; "+
			"use an address of an interface, or datapath userspace", f.VIP)
	}
	return ""
}

// LocalVIP checks that addr is possible as VIP on a machine with these local addresses: one
// of them, a loopback address or the unspecified one. It is called when a farm is created,
// started or gets another vip.
func LocalVIP(addr netip.Addr, local []netip.Addr) error {
	if addr.IsUnspecified() || addr.IsLoopback() || slices.Contains(local, addr) {
		return nil
	}
	return &field.Error{Path: "", Field: "vip", Message: fmt.Sprintf("vip must be an address of this machine, got %s: add it to an interface first", addr)}
}

// UpVIP checks whether a farm with the VIP addr can start. down is the interface that has
// the address and is down, "" for none.
func UpVIP(addr netip.Addr, down string) error {
	if down == "" {
		return nil
	}
	return &field.Error{Path: "", Field: "vip", Message: fmt.Sprintf("the interface of the vip %s is down: bring %s up first (ip link set %s up)", addr, down, down)}
}

// LocalSource checks that addr is possible as source address on a machine with these local
// addresses. It is called when the source of a backend changes, so that an address that
// disappears later blocks no other change.
func LocalSource(addr netip.Addr, local []netip.Addr) error {
	if !addr.IsValid() || addr.IsLoopback() || slices.Contains(local, addr) {
		return nil
	}
	return &field.Error{Path: "", Field: "source", Message: fmt.Sprintf("source must be an address of this machine, got %s: add it to an interface first", addr)}
}
