package snapshot

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/shm"
)

// PageSize is the size of the control page in bytes.
const PageSize = 4096

const (
	pageMagic  = 0x534c435452504147 // "SLCTRPAG" read as a number
	pageLayout = 2
)

// MaxLoops is the maximum number of event loops whose liveness the page tracks.
const MaxLoops = 64

// Page is the control page. It holds the state of generations and shows whether the engine
// and each event loop are alive. OpenPage places it in shared memory. All methods are
// atomic and may be called from any goroutine of any process while the page is mapped.
// Each setter belongs to one side.
//
//	0    magic, layout
//	64   written by mgmt: published
//	128  written by the engine: acknowledged, refused, asked, pid, start, loops
//	192  the last request that each loop answered, 64 bits each
type Page struct {
	_ shm.Header
	_ [48]byte

	published atomic.Uint64
	_         [56]byte

	acknowledged atomic.Uint64
	refused      atomic.Uint64
	asked        atomic.Uint64
	enginePID    atomic.Int64
	startedAt    atomic.Int64 // Unix ns
	loops        atomic.Uint64
	_            [16]byte

	answered [MaxLoops]atomic.Uint64
}

// OpenPage returns the control page in mem, which must be at least PageSize bytes of
// writable shared memory. Zeroed memory is an empty page. Memory with other contents than
// a page of this layout returns ErrPage.
func OpenPage(mem []byte) (*Page, error) {
	p, err := shm.Create[Page](mem, pageMagic, pageLayout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPage, err)
	}
	return p, nil
}

// Published returns the generation that mgmt published last, 0 for none.
func (p *Page) Published() uint64 { return p.published.Load() }

// SetPublished is called by mgmt after it sent a snapshot.
func (p *Page) SetPublished(generation uint64) { p.published.Store(generation) }

// Acknowledged returns the generation that the engine runs, 0 for none.
func (p *Page) Acknowledged() uint64 { return p.acknowledged.Load() }

// SetAcknowledged is called by the engine once every loop uses the generation.
func (p *Page) SetAcknowledged(generation uint64) { p.acknowledged.Store(generation) }

// Refused returns the generation that the engine refused last, 0 for none.
func (p *Page) Refused() uint64 { return p.refused.Load() }

// SetRefused is called by the engine if it keeps its previous generation.
func (p *Page) SetRefused(generation uint64) { p.refused.Store(generation) }

// StartEngine is called by a new engine. It clears the values of its predecessor and sets
// process ID, start time and number of loops, at most MaxLoops.
func (p *Page) StartEngine(pid, loops int, now time.Time) {
	p.enginePID.Store(0)
	p.acknowledged.Store(0)
	p.refused.Store(0)
	p.asked.Store(0)
	for i := range p.answered {
		p.answered[i].Store(0)
	}
	p.loops.Store(uint64(min(loops, MaxLoops)))
	p.startedAt.Store(now.UnixNano())
	p.enginePID.Store(int64(pid))
}

// EnginePID returns the process ID of the engine, 0 if none has started.
func (p *Page) EnginePID() int { return int(p.enginePID.Load()) }

// StartedAt returns the start time of the engine, the zero time if none has started.
func (p *Page) StartedAt() time.Time { return at(p.startedAt.Load()) }

// Ask is called by the engine every second. It shows that the process is alive and
// requests another answer of each loop.
func (p *Page) Ask() { p.asked.Add(1) }

// Asked returns the number of requests so far.
func (p *Page) Asked() uint64 { return p.asked.Load() }

// Answer is called on a loop and answers all requests so far.
func (p *Page) Answer(loop int) { p.answered[loop].Store(p.asked.Load()) }

// Answered returns the last request that a loop answered.
func (p *Page) Answered(loop int) uint64 { return p.answered[loop].Load() }

// Loops returns the number of loops of the engine, 0 if none has started.
func (p *Page) Loops() int { return int(min(p.loops.Load(), MaxLoops)) }

func at(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
