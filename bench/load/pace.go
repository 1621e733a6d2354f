package load

import (
	"time"

	"github.com/sluicelb/sluice/bench/poll"
)

// pace releases requests at fixed times, independent of the responses.
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

// release sends due requests. A request without a free connection stays due and its
// latency continues to count.
func (c *Client) release(p *pace) {
	p.timer.Ticks()
	now := poll.Now()
	for p.next <= now && p.next < c.until && len(c.idle) > 0 {
		i := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		if c.conns[i].phase != quiet {
			continue // failed and counted; the slot is not used again
		}
		c.flying++
		c.send(i, p.next)
		p.next += p.interval
	}
}
