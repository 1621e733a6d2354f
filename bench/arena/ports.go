package arena

import (
	"fmt"

	"github.com/sluicelb/sluice/bench/measure"
)

// Ports hands out listen ports. They lie below every usual ephemeral range, so
// that no outgoing connection can take one first. The zero value is ready; one
// goroutine at a time.
type Ports struct{ next uint16 }

const (
	firstPort = 7000
	lastPort  = 10200
)

// Take returns a port that nothing listens on and that was not handed out
// recently.
func (p *Ports) Take() (uint16, error) {
	busy, err := measure.Listening()
	if err != nil {
		return 0, err
	}
	for range lastPort - firstPort {
		if p.next < firstPort || p.next >= lastPort {
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
