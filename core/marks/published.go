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
	publishedMagic  = 0x534c4d41524b4b44 // "SLMARKKD" read as a number
	publishedLayout = 1
	// maxPublished is the highest number of kinds: twice what a configuration can
	// have whose backends need one each, because two are in force while one takes
	// over from the other.
	maxPublished = 1 << 17
)

// PublishedSize is the size of the memory of Published in bytes (1 MiB, of which
// only the pages in use take memory).
const PublishedSize = int(unsafe.Sizeof(Published{}))

// ErrPublished occurs when memory does not hold kinds as they are written here.
var ErrPublished = errors.New("no list of published kinds of sockets")

// Published are the kinds of sockets that farms in force need: mgmt, which knows
// them, writes them down, and netd makes no others. They lie in memory the
// supervisor holds and gives to these two, so that each may die, and a netd that
// was started again goes on where the last one ended. It is never made, only
// found in shared memory by OpenPublished.
//
//	0    magic, layout, version, count
//	32   kinds, 64 bits each: the mark, bit 32 for IPv6, bit 33 for UDP
//
// The version is odd while the list is written. One process writes, in one
// goroutine at a time; any number reads.
type Published struct {
	_       shm.Header
	version atomic.Uint64
	count   atomic.Uint64
	kinds   [maxPublished]atomic.Uint64
}

// OpenPublished returns the list in mem, at least PublishedSize bytes of shared
// memory. Zeroed memory, which must be mapped for writing, is an empty one.
// Anything else is refused with ErrPublished.
func OpenPublished(mem []byte) (*Published, error) {
	p, err := shm.Create[Published](mem, publishedMagic, publishedLayout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPublished, err)
	}
	return p, nil
}

// Set makes these the kinds and no others. Kinds that come twice count once, and
// those without a mark need no leave. The error means that there are too many;
// nothing has changed then.
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
	odd := p.version.Load() | 1 // it is odd already if the last writer died here
	p.version.Store(odd)
	for i, w := range words {
		p.kinds[i].Store(w)
	}
	p.count.Store(uint64(len(words)))
	p.version.Store(odd + 1)
	return nil
}

// Version tells whether the list is another one than before; an odd one is being
// written.
func (p *Published) Version() uint64 { return p.version.Load() }

// List returns the kinds and the version they belong to. ok is false while the
// list is being written, or if its writer died over that.
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
