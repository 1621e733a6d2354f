package load

import (
	"time"

	"github.com/sluicelb/sluice/bench/poll"
)

// pace releases requests at fixed times, whatever the answers do.
type pace struct {
	timer    *poll.Timer
	next     int64 // when the next request is due
	interval int64
}

func (c *Client) newPace(now int64) (*pace, error) {
	interval := time.Second / time.Duration(c.spec.Rate)
	timer, err := poll.NewTimer(c.poll, max(interval, 100*time.Microsecond), tokenTimer)
	if err != nil {
		return nil, err
	}
	for i := range c.conns {
		if c.conns[i].phase == quiet {
			c.idle = append(c.idle, int32(i))
		}
	}
	return &pace{timer: timer, next: now, interval: int64(interval)}, nil
}

// release sends what is due. A request that finds no free connection stays due
// and its latency goes on counting.
func (c *Client) release(p *pace) {
	p.timer.Ticks()
	now := poll.Now()
	for p.next <= now && p.next < c.until && len(c.idle) > 0 {
		i := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		if c.conns[i].phase != quiet {
			continue // it failed: that is counted, and the slot is given up
		}
		c.flying++
		c.send(i, p.next)
		p.next += p.interval
	}
}
