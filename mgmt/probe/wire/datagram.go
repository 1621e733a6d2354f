package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// ErrSilent: nothing was received. ErrUnfit: no received datagram answers the request.
var (
	ErrSilent = errors.New("no answer")
	ErrUnfit  = probe.Strange("nothing of what came answers the question")
)

// Datagrams is a UDP connection that has no deadline after the end of the check, even if a
// library sets one.
type Datagrams struct {
	net.Conn
	ctx    context.Context // of the check, which records received bytes
	mu     sync.Mutex
	until  time.Time // zero for no end
	unhook func() bool
}

// OpenUDP connects by UDP, so that ICMP errors are received. That sends nothing, so a
// server can refuse only the step that follows.
func OpenUDP(ctx context.Context, n probe.Network, version, address string) (*Datagrams, error) {
	probe.Step(ctx, "connect")
	c, err := n.DialContext(ctx, "udp"+version, address)
	if err != nil {
		return nil, err
	}
	d := &Datagrams{Conn: c, ctx: ctx}
	d.until, _ = ctx.Deadline()
	_ = c.SetDeadline(d.until)
	d.unhook = context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.until = time.Unix(1, 0)
		_ = c.SetDeadline(d.until)
	})
	return d, nil
}

// Read reads a datagram.
func (d *Datagrams) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	probe.Heard(d.ctx, b[:n])
	return n, err
}

// SetDeadline sets the deadline, or the end of the check if that is earlier.
func (d *Datagrams) SetDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.until.IsZero() && (t.IsZero() || t.After(d.until)) {
		t = d.until
	}
	return d.Conn.SetDeadline(t)
}

// SetReadDeadline and SetWriteDeadline are SetDeadline.
func (d *Datagrams) SetReadDeadline(t time.Time) error  { return d.SetDeadline(t) }
func (d *Datagrams) SetWriteDeadline(t time.Time) error { return d.SetDeadline(t) }

// Close closes the connection.
func (d *Datagrams) Close() error {
	d.unhook()
	return d.Conn.Close()
}

// tries is how often a request is sent, since it may be lost. maxDatagram is the longest
// answer in bytes.
const (
	tries       = 3
	maxDatagram = 64 << 10
)

// Ask sends a request until it receives an answer: up to three times within the time limit
// of the check, or within three seconds. The function is reports whether a datagram answers
// the request; other datagrams are skipped.
func (d *Datagrams) Ask(ctx context.Context, question []byte, is func(answer []byte) bool) ([]byte, error) {
	wait := time.Second
	if deadline, bounded := ctx.Deadline(); bounded {
		wait = min(wait, time.Until(deadline)/tries)
	}
	answer, unfit := make([]byte, maxDatagram), false
	for range tries {
		_ = d.SetDeadline(time.Now().Add(wait)) // the previous deadline has passed, for writing too
		if _, err := d.Write(question); err != nil {
			return nil, err
		}
		for {
			n, err := d.Read(answer)
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				break
			}
			if err != nil {
				return nil, err
			}
			if is(answer[:n]) {
				return answer[:n], nil
			}
			unfit = true
		}
	}
	if unfit {
		return nil, ErrUnfit
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, ErrSilent
}
