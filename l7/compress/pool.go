package compress

const (
	// MaxMemory bounds the encoders of a pool in bytes, including idle ones.
	MaxMemory = 64 << 20
	// maxIdle bounds the idle encoders of one kind.
	maxIdle = 4
)

// Pool holds the encoders of one loop. The zero value is ready.
type Pool struct {
	idle   [numCodings][numLevels][]*Encoder
	memory int // of all existing encoders
}

// Get returns an encoder for a new body, or nil if MaxMemory is used up.
func (p *Pool) Get(c Coding, l Level) *Encoder {
	idle := &p.idle[c][l]
	if n := len(*idle); n > 0 {
		e := (*idle)[n-1]
		*idle = (*idle)[:n-1]
		e.library.Reset(&e.out)
		return e
	}
	v := &variants[c][l]
	if p.memory+v.cost > MaxMemory && !p.release(v.cost) {
		return nil
	}
	p.memory += v.cost
	e := &Encoder{library: v.make(), coding: c, level: l}
	e.library.Reset(&e.out)
	return e
}

// Put returns an encoder, whether or not its body was complete. An encoder whose library
// panicked is dropped.
func (p *Pool) Put(e *Encoder) {
	idle := &p.idle[e.coding][e.level]
	if e.busy || len(*idle) >= maxIdle {
		p.memory -= variants[e.coding][e.level].cost
		return
	}
	e.dirty = false
	*idle = append(*idle, e)
}

// Memory returns the maximum memory of the encoders in bytes.
func (p *Pool) Memory() int { return p.memory }

// release drops idle encoders until there is room for cost bytes.
func (p *Pool) release(cost int) bool {
	for c := range p.idle {
		for l := range p.idle[c] {
			for idle := &p.idle[c][l]; len(*idle) > 0; {
				last := len(*idle) - 1
				(*idle)[last] = nil
				*idle = (*idle)[:last]
				p.memory -= variants[c][l].cost
				if p.memory+cost <= MaxMemory {
					return true
				}
			}
		}
	}
	return false
}
