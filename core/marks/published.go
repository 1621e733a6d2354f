package marks

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/sluicelb/sluice/core/shm"
)

const (
	publishedMagic  = 0x534c4d41524b4b44 // "SLMARKKD" as a number
	publishedLayout = 1
	// maxPublished is the maximum number of kinds. A configuration whose backends need
	// one each can have half as many, and two configurations are active during a
	// change.
	maxPublished = 1 << 17
)

// PublishedSize is the size of the memory for Published in bytes (1 MiB). Only pages in
// use take memory.
const PublishedSize = int(unsafe.Sizeof(Published{}))

// ErrPublished means that memory does not hold a valid list of kinds.
var ErrPublished = errors.New("no list of published kinds of sockets")

// Published lists the kinds of sockets that active farms need. mgmt writes it, and netd
// makes no others. It lies in memory that the supervisor holds and passes to both, so
// either may die, and a restarted netd continues with it. It is only obtained from
// OpenPublished.
//
//	0    magic, layout, version, count
//	32   kinds, 64 bits each: the mark, bit 32 for IPv6, bit 33 for UDP
//
// The version is odd while the list is written. One goroutine of one process may write;
// any number may read.
type Published struct {
	_       shm.Header
	version atomic.Uint64
	count   atomic.Uint64
	kinds   [maxPublished]atomic.Uint64
}

// OpenPublished returns the list in mem, at least PublishedSize bytes of shared memory.
// Zeroed memory, which must be writable, is an empty list. Other content fails with
// ErrPublished.
func OpenPublished(mem []byte) (*Published, error) {
	p, err := shm.Create[Published](mem, publishedMagic, publishedLayout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPublished, err)
	}
	return p, nil
}

// Set replaces the list. It ignores duplicates and kinds without a mark. It returns an
// error, without changes, if there are too many.
func (p *Published) Set(kinds []Kind) error {
	words := make([]uint64, 0, len(kinds))
	for _, k := range kinds {
		if k.Mark != 0 {
			words = append(words, k.word())
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) > maxPublished {
		return fmt.Errorf("%d kinds of sockets with a mark are needed, at most %d are possible: let backends share marks", len(words), maxPublished)
	}
	odd := p.version.Load() | 1 // already odd if the previous writer died here
	p.version.Store(odd)
	for i, w := range words {
		p.kinds[i].Store(w)
	}
	p.count.Store(uint64(len(words)))
	p.version.Store(odd + 1)
	return nil
}

// Version returns the version of the list. It changes with the list and is odd while
// the list is written.
func (p *Published) Version() uint64 { return p.version.Load() }

// List returns the kinds and their version. ok is false while the list is written, and
// after its writer died during that.
func (p *Published) List() (kinds []Kind, version uint64, ok bool) {
	if version = p.version.Load(); version%2 != 0 {
		return nil, version, false
	}
	for i := range min(p.count.Load(), maxPublished) {
		kinds = append(kinds, kindFrom(p.kinds[i].Load()))
	}
	return kinds, version, p.version.Load() == version
}

const (
	wordV6  = 1 << 32
	wordUDP = 1 << 33
)

func (k Kind) word() uint64 {
	w := uint64(k.Mark)
	if k.V6 {
		w |= wordV6
	}
	if k.UDP {
		w |= wordUDP
	}
	return w
}

func kindFrom(w uint64) Kind { return Kind{Mark: uint32(w), V6: w&wordV6 != 0, UDP: w&wordUDP != 0} }
