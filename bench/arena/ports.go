package arena

import (
	"fmt"
	"math/rand/v2"

	"github.com/sluicelb/sluice/bench/measure"
)

// Ports allocates listen ports. They are below every usual ephemeral range, so that no
// outgoing connection uses one first. The first one is random, so that two concurrent
// benches rarely collide. The zero value is ready to use; it is not safe for concurrent
// use.
type Ports struct{ next uint16 }

const (
	firstPort = 7000
	lastPort  = 10000
)

// Take returns an unused port that was not returned recently.
func (p *Ports) Take() (uint16, error) {
	busy, err := measure.Listening()
	if err != nil {
		return 0, err
	}
	if p.next == 0 {
		p.next = firstPort + rand.N[uint16](lastPort-firstPort)
	}
	for range lastPort - firstPort {
		if p.next >= lastPort {
			p.next = firstPort
		}
		port := p.next
		p.next++
		if len(busy[port]) == 0 {
			return port, nil
		}
	}
	return 0, fmt.Errorf("every port from %d to %d is taken", firstPort, lastPort)
}
