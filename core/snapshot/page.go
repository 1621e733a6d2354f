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

// MaxLoops bounds the loops of an engine that can answer.
const MaxLoops = 64

// Page is the control page: which generation is where, and whether the engine
// and each of its loops are alive. It is never made, only found in shared memory by OpenPage. All
// methods are atomic and may be called from any goroutine of any process that
// maps the page, as long as it is mapped. Setters belong to one side each.
//
//	0    magic, layout
//	64   mgmt's words: published
//	128  the engine's words: acknowledged, refused, asked, pid, start, loops
//	192  how often each loop answered, 64 bits each
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

// OpenPage returns the control page in mem, at least PageSize bytes of shared
// memory mapped for writing. Zeroed memory is a page on which nothing was
// published. Anything else is refused with ErrPage.
func OpenPage(mem []byte) (*Page, error) {
	p, err := shm.Create[Page](mem, pageMagic, pageLayout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPage, err)
	}
	return p, nil
}

// Published returns the generation mgmt published last; 0 is none.
func (p *Page) Published() uint64 { return p.published.Load() }

// SetPublished is called by mgmt after it handed a snapshot over.
func (p *Page) SetPublished(generation uint64) { p.published.Store(generation) }

// Acknowledged returns the generation the engine runs; 0 is none.
func (p *Page) Acknowledged() uint64 { return p.acknowledged.Load() }

// SetAcknowledged is called by the engine after every loop uses the generation.
func (p *Page) SetAcknowledged(generation uint64) { p.acknowledged.Store(generation) }

// Refused returns the generation the engine refused last; 0 is none.
func (p *Page) Refused() uint64 { return p.refused.Load() }

// SetRefused is called by the engine when it keeps its old generation instead.
func (p *Page) SetRefused(generation uint64) { p.refused.Store(generation) }

// StartEngine is called by an engine that took the page over: it clears what
// its predecessor left, and sets its process id, its start and how many loops it
// runs, at most MaxLoops.
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

// EnginePID returns the process id of the engine; 0 when none has started.
func (p *Page) EnginePID() int { return int(p.enginePID.Load()) }

// StartedAt returns when that engine started; the zero time when none has.
func (p *Page) StartedAt() time.Time { return at(p.startedAt.Load()) }

// Ask is called by the engine every second: it says that the process goes on,
// and that its loops have to answer once more.
func (p *Page) Ask() { p.asked.Add(1) }

// Asked tells how often the loops were asked.
func (p *Page) Asked() uint64 { return p.asked.Load() }

// Answer is called on a loop: it has answered whatever was asked so far.
func (p *Page) Answer(loop int) { p.answered[loop].Store(p.asked.Load()) }

// Answered tells how far each loop has answered, in an engine that started.
func (p *Page) Answered(loop int) uint64 { return p.answered[loop].Load() }

// Loops is how many loops the engine runs; 0 when none has started.
func (p *Page) Loops() int { return int(min(p.loops.Load(), MaxLoops)) }

func at(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
