package arena

import (
	"fmt"
	"math/rand/v2"

	"github.com/sluicelb/sluice/bench/measure"
)

// Ports hands out listen ports. They lie below every usual ephemeral range, so
// that no outgoing connection can take one first, and begin anywhere, so that
// two benches at a time hardly ever want the same one. The zero value is ready;
// one goroutine at a time.
type Ports struct{ next uint16 }

const (
	firstPort = 7000
	lastPort  = 10000
)

// Take returns a port that nothing listens on and that was not handed out
// recently.
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
