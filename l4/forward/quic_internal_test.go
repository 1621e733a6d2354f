package forward

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/shm"
)

// longPacket returns a packet with a long header.
func longPacket(version uint32, to, from []byte) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0xc0}, version)
	b = append(append(b, byte(len(to))), to...)
	b = append(append(b, byte(len(from))), from...)
	return append(b, "payload"...)
}

func TestConnectionIDsAreParsed(t *testing.T) {
	to, from := []byte("12345678"), []byte("abcd")
	p, ok := parseQUIC(longPacket(1, to, from))
	if !ok || !p.long || p.version != 1 || !bytes.Equal(p.to, to) || !bytes.Equal(p.from, from) {
		t.Errorf("long packet: %+v, %t", p, ok)
	}
	p, ok = parseQUIC(append([]byte{0x40}, "12345678rest"...))
	if !ok || p.long || string(p.to) != "12345678rest" {
		t.Errorf("short packet: %+v, %t", p, ok)
	}
	whole := longPacket(1, to, from)
	for n := range len(whole) - len("payload") {
		if p, ok := parseQUIC(whole[:n]); ok {
			t.Errorf("%d bytes of a packet are parsed as one: %+v", n, p)
		}
	}
	if _, ok := parseQUIC(longPacket(1, make([]byte, 20), make([]byte, 20))); !ok {
		t.Error("ids of 20 bytes are rejected")
	}
	if _, ok := parseQUIC(longPacket(1, make([]byte, 21), nil)); ok {
		t.Error("an id of 21 bytes is accepted")
	}
}

func TestConnectionIDsAreFoundByLearnedLengths(t *testing.T) {
	ids := newConnIDs(nil, 1)
	now := time.Now().UnixNano()
	ids.learn([]byte("abc"), 9, now) // too short to be unique
	ids.learn([]byte("12345678"), 1, now)
	ids.learn([]byte("abcdef"), 2, now)
	ids.learn([]byte("wxyz"), 3, now)
	for text, want := range map[string]uint32{"wxyz and more": 3, "12345678 and more": 1, "abcdef": 2, "abcdefgh": 2, "abcde": 0, "abc": 0, "1234567": 0, "": 0} {
		backend, _, ok := ids.find(&quicPacket{to: []byte(text)}, now)
		if ok != (want != 0) || backend != want {
			t.Errorf("%q: backend %d, %t", text, backend, ok)
		}
	}
	if backend, _, _ := ids.find(&quicPacket{long: true, to: []byte("12345678")}, now); backend != 1 {
		t.Errorf("a long packet: backend %d, want 1", backend)
	}
	if _, _, ok := ids.find(&quicPacket{to: []byte("12345678")}, now+2*int64(connIDTTL)); ok {
		t.Error("an id is found long after it was used")
	}
}

// An ID lives while it is used; use is recorded periodically.
func TestIDsInUseAreRenewed(t *testing.T) {
	ids, id := newConnIDs(nil, 1), []byte("12345678")
	f := &flow{farm: &farmTable{ids: ids}, to: &backend{id: 7}, state: assured, id: connID{length: 8}}
	for _, step := range []struct{ now, noted int64 }{{1, 1}, {connIDRenew, 1}, {connIDRenew + 1, connIDRenew + 1}} {
		f.last = step.now
		if f.noteUse(append([]byte{0x40}, "12345678 and more"...)); f.id.noted != step.noted {
			t.Errorf("at %d: noted at %d, want %d", step.now, f.id.noted, step.noted)
		}
	}
	if backend, _, _ := ids.find(&quicPacket{to: id}, session.Now()); backend != 7 {
		t.Errorf("it is of backend %d, want 7", backend)
	}
}

// Only a backend's own IDs are learned, and only from packets that reveal them.
func TestIDsAreLearnedFromAnswersWithLongHeaders(t *testing.T) {
	for what, c := range map[string]struct {
		packet  []byte
		length  uint8
		learned string
	}{
		"nothing":             {nil, 0, ""},
		"a short header":      {append([]byte{0x40}, "12345678 and more"...), 0, ""},
		"half a packet":       {longPacket(1, []byte("to"), []byte("12345678"))[:10], 0, ""},
		"version negotiation": {longPacket(0, []byte("to"), []byte("12345678")), 0, ""},
		"a short id":          {longPacket(1, []byte("to"), []byte("123")), 0, ""},
		"the shortest id":     {longPacket(1, []byte("to"), []byte("1234")), 4, "1234"},
		"an id":               {longPacket(1, []byte("to"), []byte("12345678")), 8, "12345678"},
	} {
		ids := newConnIDs(nil, 1)
		f := &flow{farm: &farmTable{ids: ids}, to: &backend{id: 7}}
		if f.noteAnswer(c.packet); f.id.length != c.length {
			t.Errorf("%s: ids have %d bytes, want %d", what, f.id.length, c.length)
		}
		for _, id := range []string{"12345678", "1234", "123", "to"} {
			if backend, _, ok := ids.find(&quicPacket{long: true, to: []byte(id)}, session.Now()); ok != (id == c.learned) || ok && backend != 7 {
				t.Errorf("%s: %q is of backend %d, %t", what, id, backend, ok)
			}
		}
	}
	f := &flow{}
	for _, c := range []struct {
		length uint8
		packet []byte
		want   string
	}{
		{0, append([]byte{0x40}, "12345678 and more"...), ""},
		{8, append([]byte{0x40}, "12345678 and more"...), "12345678"},
		{8, append([]byte{0x40}, "12345678"...), "12345678"},
		{8, append([]byte{0x40}, "1234567"...), ""},
		{8, longPacket(1, []byte("12345678"), []byte("from")), "12345678"},
		{8, longPacket(1, []byte("1234"), []byte("12345678")), ""},
		{8, longPacket(1, []byte("12345678"), nil)[:13], ""},
	} {
		if f.id.length = c.length; string(f.idIn(c.packet)) != c.want {
			t.Errorf("of %q with ids of %d bytes: %q", c.packet, c.length, f.idIn(c.packet))
		}
	}
}

// The IDs learned from a client that invents them are limited.
func TestFewIDsAreLearnedFromOneClient(t *testing.T) {
	ids := newConnIDs(nil, 1)
	f := &flow{farm: &farmTable{ids: ids}, to: &backend{id: 7}, id: connID{length: 8}}
	use := func(n int) (id []byte) {
		id = fmt.Appendf(nil, "%08d", n)
		f.noteUse(append(append([]byte{0x40}, id...), "more"...))
		return id
	}
	known := func(id []byte) bool {
		_, _, ok := ids.find(&quicPacket{long: true, to: id}, session.Now())
		return ok
	}
	if known(use(1)) {
		t.Error("an id is learned from an unconfirmed client")
	}
	f.state = answered
	for n := range connIDsEach + 2 {
		if id := use(n); known(id) != (n < connIDsEach) {
			t.Errorf("the %d. id is learned: %t", n+1, known(id))
		}
	}
	if _, ok := f.resume(longPacket(1, []byte("12345678"), nil)[:10]); ok {
		t.Error("half a packet resumes a connection")
	}
	if ids.table.Len() != connIDsEach {
		t.Errorf("%d ids are kept", ids.table.Len())
	}
}

func TestIDsOfAnEarlierEngineAreFound(t *testing.T) {
	f, err := shm.Shared("test", session.MemorySize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	now := time.Now().UnixNano()
	for range 2 {
		mem, err := session.OpenMemory(m.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		ids := newConnIDs(mem, 7)
		if backend, _, ok := ids.find(&quicPacket{to: []byte("12345678 and more")}, now); ok && backend == 3 {
			return
		}
		ids.learn([]byte("12345678"), 3, now)
	}
	t.Error("the next engine does not know it")
}

func FuzzQUICPacket(f *testing.F) {
	for _, b := range [][]byte{nil, {0x40}, {0x80, 0, 0, 0, 1, 0, 0}, longPacket(1, []byte("12345678"), []byte("abcd")),
		longPacket(0, nil, make([]byte, 20)), append([]byte{0x5f}, "id and payload"...)} {
		f.Add(b)
	}
	ids := newConnIDs(nil, 1)
	ids.learn([]byte("12345678"), 1, 0)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parseQUIC(b)
		if !ok {
			return
		}
		if p.long {
			again := append([]byte{b[0]}, longPacket(p.version, p.to, p.from)[1:]...)
			again = again[:len(again)-len("payload")]
			if !bytes.HasPrefix(b, again) || len(p.to) > connIDMost || len(p.from) > connIDMost {
				t.Fatalf("%x read as %+v", b, p)
			}
		} else if b[0]&0x80 != 0 || !bytes.Equal(p.to, b[1:]) {
			t.Fatalf("%x read as %+v", b, p)
		}
		backend, length, found := ids.find(&p, 0)
		if is := p.long && string(p.to) == "12345678" || !p.long && bytes.HasPrefix(p.to, []byte("12345678")); found != is || found && (backend != 1 || length != 8) {
			t.Fatalf("%x: backend %d, id of %d bytes, %t", b, backend, length, found)
		}
	})
}
