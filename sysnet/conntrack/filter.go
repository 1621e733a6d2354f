package conntrack

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/claim"
)

// BackendMark is the mark of the connections to the backend of that number,
// 1 … 0xfffff.
func BackendMark(id uint32) uint32 { return claim.Own().Mark() | id&^claim.OwnMask }

// BackendOf is the number of the backend a mark names, whatever the instance; ok
// is false for marks of no instance.
func BackendOf(mark uint32) (id uint32, ok bool) {
	return mark &^ claim.OwnMask, mark&claim.MarkMask == claim.FirstMark
}

// Family is an address family; the zero value stands for both.
type Family uint8

// The families.
const (
	AnyFamily Family = unix.AF_UNSPEC
	IPv4      Family = unix.AF_INET
	IPv6      Family = unix.AF_INET6
)

// Filter says which entries are meant. The zero value means all of them.
type Filter struct {
	// Mark and Mask compare the connection mark: mark&Mask == Mark. A Mask of
	// zero means any mark.
	Mark, Mask uint32
	Family     Family
	// Protocol is a transport protocol by number (6 TCP, 17 UDP); 0 means any.
	Protocol uint8
	// Only, if set, is asked about the mark of each entry the rest lets through.
	Only func(mark uint32) bool
}

// fits says what the kernel was not asked to.
func (f *Filter) fits(e essence) bool {
	return (f.Protocol == 0 || f.Protocol == e.protocol) && (f.Only == nil || f.Only(e.mark))
}

// Farms is the filter for every connection of every farm of this instance.
func Farms() Filter { return Filter{Mark: claim.Own().Mark(), Mask: claim.OwnMask} }

// Backend is the filter for the connections to one backend.
func Backend(id uint32) Filter { return Filter{Mark: BackendMark(id), Mask: ^uint32(0)} }

// Backends is the filter for the connections to any of these backends.
func Backends(ids []uint32) Filter {
	set := make(map[uint32]bool, len(ids))
	for _, id := range ids {
		set[BackendMark(id)] = true
	}
	f := Farms()
	f.Only = func(mark uint32) bool { return set[mark] }
	return f
}

// ErrNotOurs: a deletion would hit connections that are not ours.
var ErrNotOurs = errors.New("only entries with a mark of a farm may be deleted")

// ErrInterrupted: the table changed so fast that no consistent answer came in
// several tries.
var ErrInterrupted = errors.New("the table changed while it was read")

// ours refuses a filter that reaches beyond the connections of farms.
func (f Filter) ours() error {
	if f.Mask&claim.OwnMask != claim.OwnMask || f.Mark&claim.OwnMask != claim.Own().Mark() {
		return fmt.Errorf("mark %#x with mask %#x: %w", f.Mark, f.Mask, ErrNotOurs)
	}
	return nil
}
