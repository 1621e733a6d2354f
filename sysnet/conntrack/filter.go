package conntrack

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/claim"
)

// BackendMark returns the mark of connections to the backend with the number id, 1 …
// 0xfffff.
func BackendMark(id uint32) uint32 { return claim.Own().Mark() | id&^claim.OwnMask }

// BackendOf returns the number of the backend in a mark of any instance. ok is false for
// other marks.
func BackendOf(mark uint32) (id uint32, ok bool) {
	return mark &^ claim.OwnMask, mark&claim.MarkMask == claim.FirstMark
}

// Family is an address family; the zero value selects both.
type Family uint8

// Address families.
const (
	AnyFamily Family = unix.AF_UNSPEC
	IPv4      Family = unix.AF_INET
	IPv6      Family = unix.AF_INET6
)

// Filter selects entries. The zero value selects all.
type Filter struct {
	// Mark and Mask select by connection mark: mark&Mask == Mark. A zero Mask matches any
	// mark.
	Mark, Mask uint32
	Family     Family
	// Protocol is the number of a transport protocol (6 TCP, 17 UDP); 0 matches any.
	Protocol uint8
	// Only, if set, decides by the mark of each entry that passes the other conditions.
	Only func(mark uint32) bool
}

// fits applies the conditions that the kernel cannot evaluate.
func (f *Filter) fits(e essence) bool {
	return (f.Protocol == 0 || f.Protocol == e.protocol) && (f.Only == nil || f.Only(e.mark))
}

// Farms returns the filter for all connections of all farms of this instance.
func Farms() Filter { return Filter{Mark: claim.Own().Mark(), Mask: claim.OwnMask} }

// Backend returns the filter for connections to one backend.
func Backend(id uint32) Filter { return Filter{Mark: BackendMark(id), Mask: ^uint32(0)} }

// Backends returns the filter for connections to any of the given backends.
func Backends(ids []uint32) Filter {
	set := make(map[uint32]bool, len(ids))
	for _, id := range ids {
		set[BackendMark(id)] = true
	}
	f := Farms()
	f.Only = func(mark uint32) bool { return set[mark] }
	return f
}

// ErrNotOurs means that a deletion would affect connections of others.
var ErrNotOurs = errors.New("only entries with a mark of a farm may be deleted")

// ErrInterrupted means that the table changed during every attempt to read it.
var ErrInterrupted = errors.New("the table changed while it was read")

// ours refuses a filter that also matches connections outside of farms.
func (f Filter) ours() error {
	if f.Mask&claim.OwnMask != claim.OwnMask || f.Mark&claim.OwnMask != claim.Own().Mark() {
		return fmt.Errorf("mark %#x with mask %#x: %w", f.Mark, f.Mask, ErrNotOurs)
	}
	return nil
}
