package link

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

// MaxConnections bounds the connections of one answer, in which each takes up to
// 200 bytes, and MaxNamed the backends of one question.
const (
	MaxConnections = 1000
	MaxNamed       = 1 << 14
)

// Connection is a connection or flow of an l4xnat farm, as it is now.
type Connection struct {
	Backend  uint32 `cbor:"1,keyasint"` // stable number
	Protocol string `cbor:"2,keyasint"` // "tcp" or "udp"
	// State is "connecting" or "established", of a flow "unreplied" or "replied".
	State string `cbor:"3,keyasint"`
	// Client asked To, the connection to Server is for it.
	Client netip.AddrPort `cbor:"4,keyasint"`
	To     netip.AddrPort `cbor:"5,keyasint"`
	Server netip.AddrPort `cbor:"6,keyasint"`
	// Idle is how long a flow lives without another datagram; 0 for connections.
	Idle time.Duration `cbor:"7,keyasint,omitempty"`
	// In and Out are bytes from and to the client; 0 for flows.
	In  uint64 `cbor:"8,keyasint,omitempty"`
	Out uint64 `cbor:"9,keyasint,omitempty"`
}

// connectionQuestion asks for connections to backends by their numbers.
type connectionQuestion struct {
	// All means those of every backend, and Backends none then.
	All      bool     `cbor:"1,keyasint,omitempty"`
	Backends []uint32 `cbor:"2,keyasint,omitempty"`
	Limit    int      `cbor:"3,keyasint,omitempty"`
	// End ends them instead of listing them.
	End bool `cbor:"4,keyasint,omitempty"`
}

// named are the backends, nil for all.
func (q *connectionQuestion) named() []uint32 {
	if q.All {
		return nil
	}
	return append([]uint32{}, q.Backends...)
}

// about makes the question about the backends, nil for all.
func about(backends []uint32) *connectionQuestion {
	return &connectionQuestion{All: backends == nil, Backends: backends}
}

// Connections asks for connections to backends by their stable numbers, nil for
// all and never more than MaxNamed: how many there are, and at most limit of
// them, never more than MaxConnections. The terms are those of Sessions.
func (c *Client) Connections(ctx context.Context, backends []uint32, limit int) (total int, list []Connection, err error) {
	q := about(backends)
	q.Limit = min(max(limit, 0), MaxConnections)
	a, err := c.answerTo(ctx, &question{Connections: q})
	if err != nil {
		return 0, nil, fmt.Errorf("ask for connections: %w", err)
	}
	return a.Total, a.Connections, nil
}

// EndConnections has the engine end connections to backends, nil for all, and
// says how many it ended. What was sent is done, given up or not.
func (c *Client) EndConnections(ctx context.Context, backends []uint32) (ended int, err error) {
	q := about(backends)
	q.End = true
	a, err := c.answerTo(ctx, &question{Connections: q})
	if err != nil {
		return 0, fmt.Errorf("end connections: %w", err)
	}
	return a.Total, nil
}

// answer has the handler answer the question.
func (q *connectionQuestion) answer(h Handler) answer {
	if q.End {
		return answer{Total: h.EndConnections(q.named())}
	}
	limit := min(max(q.Limit, 0), MaxConnections)
	total, list := h.Connections(q.named(), limit)
	list = list[:min(len(list), limit)]
	return answer{Total: max(total, len(list)), Connections: list}
}
