package claim

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// Slots is the maximum number of instances in a network namespace.
const Slots = 16

// FirstMark under MarkMask is the common prefix of farm marks of all instances.
const (
	FirstMark uint32 = 0x5c00_0000
	MarkMask  uint32 = 0xff00_0000
	// OwnMask covers the mark bits that identify the instance. The remaining bits are
	// numbers within the instance, e.g. of a backend.
	OwnMask uint32 = 0xfff0_0000
)

// Slot is the index of an instance within its network namespace. A single instance has the
// zero value.
type Slot uint32

var own atomic.Uint32

// Use sets the slot of this process. It is called once at the start.
func Use(s Slot) { own.Store(uint32(s)) }

// Own returns the slot of this process.
func Own() Slot { return Slot(own.Load()) }

// Table returns the name of the instance's nft tables: "sluice", "sluice_3".
func (s Slot) Table() string { return s.named("sluice") }

// Chains returns the prefix of the instance's iptables chains: "SLUICE", "SLUICE_3".
func (s Slot) Chains() string { return s.named("SLUICE") }

func (s Slot) named(name string) string {
	if s == 0 {
		return name
	}
	return name + "_" + strconv.Itoa(int(s))
}

// Mark returns the bits under OwnMask that all marks of the instance share.
func (s Slot) Mark() uint32 { return FirstMark | uint32(s)<<20 }

// IsTable reports whether name is the name of any instance's tables.
func IsTable(name string) bool {
	for s := range Slot(Slots) {
		if s.Table() == name {
			return true
		}
	}
	return false
}

// Parse parses the result of String.
func Parse(text string) (Slot, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 8)
	if err != nil || n >= Slots {
		return 0, fmt.Errorf("%q is no slot: 0 to %d are", text, Slots-1)
	}
	return Slot(n), nil
}

// String returns the slot in decimal.
func (s Slot) String() string { return strconv.Itoa(int(s)) }
