package claim

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// Slots is how many instances of Sluice can share a network namespace.
const Slots = 16

// Marks of farms begin with FirstMark under MarkMask, whatever the instance.
const (
	FirstMark uint32 = 0x5c00_0000
	MarkMask  uint32 = 0xff00_0000
	// OwnMask covers the bits of a mark that name the instance; the others are
	// what it counts with, e.g. the number of a backend.
	OwnMask uint32 = 0xfff0_0000
)

// Slot is the place an instance has among those of its network namespace. The
// zero value is that of the only one there usually is.
type Slot uint32

var own atomic.Uint32

// Use makes s the slot of this process. It is called once, at the start.
func Use(s Slot) { own.Store(uint32(s)) }

// Own is the slot of this process.
func Own() Slot { return Slot(own.Load()) }

// Table names the tables of nft that belong to the instance: "sluice", "sluice_3".
func (s Slot) Table() string { return s.named("sluice") }

// Chains begins the names of its chains in tables of iptables: "SLUICE",
// "SLUICE_3".
func (s Slot) Chains() string { return s.named("SLUICE") }

func (s Slot) named(name string) string {
	if s == 0 {
		return name
	}
	return name + "_" + strconv.Itoa(int(s))
}

// Mark is what all marks of the instance have under OwnMask.
func (s Slot) Mark() uint32 { return FirstMark | uint32(s)<<20 }

// IsTable reports whether some instance's tables have that name.
func IsTable(name string) bool {
	for s := range Slot(Slots) {
		if s.Table() == name {
			return true
		}
	}
	return false
}

// Parse reads a slot as String writes it.
func Parse(text string) (Slot, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 8)
	if err != nil || n >= Slots {
		return 0, fmt.Errorf("%q is no slot: 0 to %d are", text, Slots-1)
	}
	return Slot(n), nil
}

// String is the number of the slot.
func (s Slot) String() string { return strconv.Itoa(int(s)) }
