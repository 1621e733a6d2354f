package link

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// Hello is the engine's first message on each connection.
type Hello struct {
	PID int `cbor:"1,keyasint"`
	// Layout is the snapshot layout version that the engine reads.
	Layout uint32 `cbor:"2,keyasint"`
	// Generation is the running generation; 0 means none.
	Generation uint64 `cbor:"3,keyasint"`
	// Loops is the number of event loops. Each listener needs one socket per loop.
	Loops int `cbor:"4,keyasint"`
	// Listeners are the keys of the listeners that the engine holds. They need not be
	// sent again.
	Listeners []string  `cbor:"5,keyasint,omitempty"`
	Started   time.Time `cbor:"6,keyasint"`
}

// Ack is an engine's response to one publication.
type Ack struct {
	// Generation is the running generation: the published one if it was accepted, else
	// the previous one.
	Generation uint64 `cbor:"1,keyasint"`
	// Refused is the reason for a rejection; empty means accepted.
	Refused string `cbor:"2,keyasint,omitempty"`
	// Whole means that the snapshot was rejected because its base is unknown to the
	// engine, which needs a complete snapshot.
	Whole bool `cbor:"5,keyasint,omitempty"`
	// Farms holds the errors of individual farms of an accepted generation, by farm ID.
	// Other farms work.
	Farms map[uint32]string `cbor:"3,keyasint,omitempty"`
	// Listeners are the keys of the listeners that the engine holds now.
	Listeners []string `cbor:"4,keyasint,omitempty"`
}

// message is one message of the channel. Exactly one of the pointers is set.
type message struct {
	Hello   *Hello       `cbor:"1,keyasint,omitempty"`
	Publish *publication `cbor:"2,keyasint,omitempty"`
	Ack     *Ack         `cbor:"3,keyasint,omitempty"`
	Ask     *question    `cbor:"4,keyasint,omitempty"`
	Answer  *answer      `cbor:"5,keyasint,omitempty"`
	// Same means that the engine holds the listeners of its last Hello or Ack on this
	// connection. The Ack then has no list: there may be thousands of keys, and most
	// changes leave them alone.
	Same bool `cbor:"6,keyasint,omitempty"`
}

// publication describes the attached descriptors: first the snapshot, then the
// listeners in this order.
type publication struct {
	Opened []opened `cbor:"1,keyasint,omitempty"`
}

type opened struct {
	Key   string `cbor:"1,keyasint"`
	Count int    `cbor:"2,keyasint"`
}

const (
	// maxBody is the maximum size of a message in bytes. Reasons for 4,095 farms and
	// the keys of as many listeners take at most 3 MiB.
	maxBody = 4 << 20
	// maxFiles is the maximum number of descriptors in one message. Few processes may
	// open more.
	maxFiles = 1 << 14
	// maxReason and maxFarmReason limit the texts of an Ack, in bytes.
	maxReason     = 4 << 10
	maxFarmReason = 512
)

var encoding = func() cbor.EncMode {
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano, Sort: cbor.SortBytewiseLexical}.EncMode()
	if err != nil {
		panic(err) // start-up: the options are constant
	}
	return mode
}()

var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		UTF8:              cbor.UTF8DecodeInvalid, // reasons quote operator input
		MaxNestedLevels:   8,
		MaxArrayElements:  1 << 14,
		MaxMapPairs:       1 << 13,
	}.DecMode()
	if err != nil {
		panic(err) // start-up: the options are constant
	}
	return mode
}()

func encode(m *message) ([]byte, error) {
	if m.Ack != nil {
		m = &message{Ack: m.Ack.clipped(), Same: m.Same}
	}
	b, err := encoding.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode control message: %w", err)
	}
	if len(b) > maxBody {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, len(b), maxBody)
	}
	return b, nil
}

// decode returns the message in b, or an error that wraps ErrProtocol. It never panics.
func decode(b []byte) (*message, error) {
	var m message
	if err := decoding.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	set := 0
	for _, is := range []bool{m.Hello != nil, m.Publish != nil, m.Ack != nil, m.Ask != nil, m.Answer != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return nil, fmt.Errorf("%w: it is %d kinds of message at once", ErrProtocol, set)
	}
	if m.Same && (m.Ack == nil || len(m.Ack.Listeners) > 0) {
		return nil, fmt.Errorf("%w: listeners that are the same are in an ack without a list", ErrProtocol)
	}
	if m.Hello != nil && !writable(m.Hello.Started) {
		return nil, fmt.Errorf("%w: its start lies in the year %d", ErrProtocol, m.Hello.Started.Year())
	}
	return &m, nil
}

// writable reports whether t can be encoded: RFC 3339 requires four-digit years.
func writable(t time.Time) bool { return 0 <= t.UTC().Year() && t.UTC().Year() <= 9999 }

// clipped returns a copy of the Ack with its reasons truncated.
func (a *Ack) clipped() *Ack {
	out := *a
	out.Refused = clip(a.Refused, maxReason)
	if a.Farms != nil {
		out.Farms = make(map[uint32]string, len(a.Farms))
		for id, reason := range a.Farms {
			out.Farms[id] = clip(reason, maxFarmReason)
		}
	}
	return &out
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "..."
}

// join returns a publication and its descriptors in the order in which they are sent.
func join(snapshot *os.File, listeners map[string][]*os.File) (*publication, []*os.File, error) {
	if snapshot == nil {
		return nil, nil, errors.New("no snapshot to publish")
	}
	p, files := &publication{}, []*os.File{snapshot}
	for key, sockets := range listeners {
		if key == "" || len(sockets) == 0 {
			return nil, nil, fmt.Errorf("listener %q with %d descriptors cannot be published", key, len(sockets))
		}
		p.Opened = append(p.Opened, opened{key, len(sockets)})
	}
	slices.SortFunc(p.Opened, func(a, b opened) int { return strings.Compare(a.Key, b.Key) })
	for _, o := range p.Opened {
		files = append(files, listeners[o.Key]...)
	}
	if len(files) > maxFiles {
		return nil, nil, fmt.Errorf("%w: %d descriptors, at most %d are allowed: publish the listeners in parts", ErrTooLarge, len(files), maxFiles)
	}
	return p, files, nil
}

// split reverses join.
func (p *publication) split(files []*os.File) (snapshot *os.File, listeners map[string][]*os.File, err error) {
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("%w: a publication without a snapshot", ErrProtocol)
	}
	snapshot, rest := files[0], files[1:]
	listeners = make(map[string][]*os.File, len(p.Opened))
	for _, o := range p.Opened {
		if o.Key == "" || o.Count < 1 || o.Count > len(rest) || listeners[o.Key] != nil {
			return nil, nil, fmt.Errorf("%w: listener %q with %d of %d descriptors left", ErrProtocol, o.Key, o.Count, len(rest))
		}
		listeners[o.Key], rest = rest[:o.Count:o.Count], rest[o.Count:]
	}
	if len(rest) > 0 {
		return nil, nil, fmt.Errorf("%w: %d descriptors belong to no listener", ErrProtocol, len(rest))
	}
	return snapshot, listeners, nil
}
