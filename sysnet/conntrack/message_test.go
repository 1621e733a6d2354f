package conntrack

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// message returns a netlink message with the given type, flags and payload.
func message(kind, flags uint16, payload []byte) []byte {
	b := make([]byte, netlinkHead, netlinkHead+len(payload))
	binary.NativeEndian.PutUint32(b, uint32(netlinkHead+len(payload)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	binary.NativeEndian.PutUint16(b[6:], flags)
	return append(b, payload...)
}

// entry returns a message about a TCP connection with mark 0x5c000007 in state
// ESTABLISHED.
func entry(flags uint16) []byte {
	nested := func(kind uint16, in []byte) []byte {
		b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(in)))
		b = append(binary.NativeEndian.AppendUint16(b, kind|unix.NLA_F_NESTED), in...)
		return append(b, make([]byte, align(len(b))-len(b))...)
	}
	octet := func(kind uint16, v byte) []byte {
		b := binary.NativeEndian.AppendUint16(nil, 5)
		return append(binary.NativeEndian.AppendUint16(b, kind), v, 0, 0, 0)
	}
	word := func(kind uint16, v uint32) []byte { return appendWord(nil, kind, v) }
	ip := nested(1, append(word(1, 0xc0000201), word(2, 0xc0000202)...))
	tuple := append(ip, nested(inTupleProto, octet(inProtoNum, 6))...)
	b := make([]byte, genHeader)
	b = append(b, nested(attrOrig, tuple)...)
	b = append(b, nested(2, tuple)...)
	b = append(b, nested(attrProtoInfo, nested(inInfoTCP, octet(inState, 3)))...)
	return message(msgNew, flags, append(b, word(attrMark, 0x5c000007)...))
}

func TestInterruptedDumpIsReported(t *testing.T) {
	n := 0
	done, torn, err := messages(append(entry(unix.NLM_F_DUMP_INTR), message(unix.NLMSG_DONE, 0, make([]byte, 4))...),
		func([]byte) error { n++; return nil })
	if !done || !torn || err != nil || n != 1 {
		t.Errorf("done %v, torn %v, %v, %d entries", done, torn, err, n)
	}
	interrupted := binary.NativeEndian.AppendUint32(nil, ^uint32(unix.EINTR)+1)
	if _, _, err := messages(message(unix.NLMSG_DONE, 0, interrupted), nil); !errors.Is(err, ErrInterrupted) {
		t.Errorf("an interruption reported at the end: %v", err)
	}
}

func TestRefusedDumpHasAReason(t *testing.T) {
	refused := binary.NativeEndian.AppendUint32(nil, ^uint32(unix.EPERM)+1)
	if _, _, err := messages(message(unix.NLMSG_ERROR, 0, refused), nil); !errors.Is(err, unix.EPERM) {
		t.Errorf("got %v", err)
	}
}

func TestCountingAllocatesNothingPerEntry(t *testing.T) {
	msg := entry(0)
	if e := examine(msg); e != (essence{mark: 0x5c000007, protocol: 6, state: 3}) {
		t.Fatalf("read %+v", e)
	}
	if n := testing.AllocsPerRun(100, func() { _ = examine(msg).phase() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(append(entry(0), message(unix.NLMSG_DONE, 0, make([]byte, 4))...))
	f.Add(message(unix.NLMSG_ERROR, 0, []byte{0xff, 0xff, 0xff, 0xff}))
	f.Add([]byte{16, 0, 0, 0, 0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		seen := 0
		_, _, _ = messages(b, func(msg []byte) error {
			seen += len(msg)
			_ = examine(msg).phase()
			return nil
		})
		if seen > len(b) {
			t.Errorf("%d bytes of messages in %d", seen, len(b))
		}
	})
}
