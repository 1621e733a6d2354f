package secondaries_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/secondaries"
)

var here = netip.MustParseAddr("127.0.0.1")

// secondary is a server that gets notifications.
type secondary struct {
	conn   *net.UDPConn
	port   uint16
	told   chan message
	answer func(msg []byte) []byte // nil: none
}

type message struct {
	from   netip.AddrPort
	serial uint32
	name   string
}

// notified returns the answer of a server that accepted.
func notified(msg []byte) []byte {
	out := append([]byte(nil), msg...)
	out[2] |= 0x80
	return out
}

func listens(t *testing.T, answer func([]byte) []byte) *secondary {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s := &secondary{conn: conn, port: conn.LocalAddr().(*net.UDPAddr).AddrPort().Port(), told: make(chan message, 100), answer: answer}
	t.Cleanup(func() { conn.Close() })
	go func() {
		for raw := make([]byte, 512); ; {
			n, from, err := conn.ReadFromUDPAddrPort(raw)
			if err != nil {
				return
			}
			msg := raw[:n]
			end := 12 + bytes.IndexByte(msg[12:], 0)
			soa := end + 5 + end - 12 + 1 + 10 + 2 // the type in the question, then owner and head of the record, and its two empty names
			if msg[end+5] >= 0xc0 {
				soa = end + 5 + 2 + 10 + 2
			}
			s.told <- message{from: from, serial: binary.BigEndian.Uint32(msg[soa:]), name: string(msg[13:end])}
			if out := s.answer(msg); out != nil {
				_, _ = conn.WriteToUDPAddrPort(out, from)
			}
		}
	}()
	return s
}

// next returns the next message.
func (s *secondary) next(t *testing.T) message {
	t.Helper()
	select {
	case m := <-s.told:
		return m
	case <-time.After(10 * time.Second):
		t.Fatal("the secondary got no notification")
		return message{}
	}
}

// teller returns a Teller without waits between its tries.
func teller(t *testing.T, port uint16, waits ...time.Duration) (*secondaries.Teller, *logtest.Log) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	log := &logtest.Log{}
	out := secondaries.New(ctx, secondaries.Options{Port: port, Waits: append([]time.Duration{}, waits...), Patience: 500 * time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(func() { cancel(); out.Wait() })
	return out, log
}

// config returns a farm with one zone with a serial.
func config(serial uint32, servers ...netip.Addr) *farm.Config {
	return &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VIP: here, VPort: 53, Global: &farm.GSLB{
		Zones: []farm.Zone{{ID: 1, Name: "example.com", Serial: serial}}, Notified: servers,
	}}}}
}

func TestZoneChangeSendsNOTIFY(t *testing.T) {
	s := listens(t, notified)
	tell, log := teller(t, s.port)
	tell.Changed(config(4, here), config(5, here))
	m := s.next(t)
	if m.serial != 5 || m.name != "example\x03com" || m.from.Addr() != here {
		t.Errorf("it received %+v", m)
	}
	log.Await(t, "a secondary was told of a zone")
	if n := len(s.told); n != 0 {
		t.Errorf("%d more notifications, though it answered", n)
	}
}

func TestUnchangedZonesSendNoNOTIFY(t *testing.T) {
	s := listens(t, notified)
	tell, _ := teller(t, s.port)
	stopped := config(6, here)
	stopped.Farms[0].Stopped = true
	tell.Changed(config(5, here), config(5, here))
	tell.Changed(config(5, here), config(6))
	tell.Changed(config(5, here), stopped)
	tell.Changed(config(5, here), &farm.Config{})
	tell.Changed(config(6, here), config(7, here)) // the first notification
	if m := s.next(t); m.serial != 7 {
		t.Errorf("serial %d was sent", m.serial)
	}
}

func TestNewSecondariesGetNOTIFY(t *testing.T) {
	was := config(5, here)
	was.Farms[0].Stopped = true
	for name, old := range map[string]*farm.Config{
		"farm":      {},
		"secondary": config(5),
		"zone":      {Farms: []farm.Farm{{ID: 1, Global: &farm.GSLB{Notified: []netip.Addr{here}}}}},
		"start":     was,
	} {
		t.Run(name, func(t *testing.T) {
			s := listens(t, notified)
			tell, _ := teller(t, s.port)
			tell.Changed(old, config(5, here))
			if m := s.next(t); m.serial != 5 {
				t.Errorf("serial %d was sent", m.serial)
			}
		})
	}
}

func TestSilentSecondaryIsRetriedAndReported(t *testing.T) {
	s := listens(t, func([]byte) []byte { return nil })
	tell, log := teller(t, s.port, time.Millisecond)
	tell.Changed(config(4, here), config(5, here))
	first, second := s.next(t), s.next(t)
	if first.serial != 5 || second.serial != 5 {
		t.Errorf("it received %+v and %+v", first, second)
	}
	log.Await(t, "a secondary was not told of a zone")
	if n := len(s.told); n != 0 {
		t.Errorf("%d notifications too many", n)
	}
}

func TestRefusalIsReportedWithAdvice(t *testing.T) {
	s := listens(t, func(msg []byte) []byte {
		out := notified(msg)
		out[3] = out[3]&0xf0 | 9 // NOTAUTH
		return out
	})
	tell, log := teller(t, s.port, 0, 0)
	tell.Changed(config(4, here), config(5, here))
	log.Await(t, "NOTAUTH: see whether it has the zone")
	s.next(t)
	if n := len(s.told); n != 0 {
		t.Errorf("%d more notifications, though it refused", n)
	}
}

func TestForeignAnswersAreIgnored(t *testing.T) {
	for name, spoil := range map[string]func([]byte){
		"number":   func(out []byte) { out[0]++ },
		"question": func(out []byte) { out[2] &^= 0x80 },
		"opcode":   func(out []byte) { out[2] &^= 0x78 },
	} {
		t.Run(name, func(t *testing.T) {
			var once sync.Once
			s := listens(t, func(msg []byte) []byte {
				out := notified(msg)
				once.Do(func() { spoil(out) })
				return out
			})
			tell, log := teller(t, s.port, time.Millisecond)
			tell.Changed(config(4, here), config(5, here))
			s.next(t)
			s.next(t) // since the first answer was invalid
			log.Await(t, "a secondary was told of a zone")
		})
	}
}

func TestNewerSerialFollowsThePendingOne(t *testing.T) {
	hold := make(chan struct{})
	s := listens(t, func(msg []byte) []byte {
		<-hold
		return notified(msg)
	})
	tell, _ := teller(t, s.port, 0, 0, 0)
	tell.Changed(config(4, here), config(5, here))
	got := []uint32{s.next(t).serial}
	tell.Changed(config(5, here), config(6, here))
	tell.Changed(config(6, here), config(7, here))
	close(hold)
	for got[len(got)-1] != 7 {
		got = append(got, s.next(t).serial)
	}
	if slices.Contains(got, 6) {
		t.Errorf("it received %v: 6 was out of date before its turn", got)
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	s := listens(t, func([]byte) []byte { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	tell := secondaries.New(ctx, secondaries.Options{Port: s.port, Waits: []time.Duration{time.Hour}})
	tell.Changed(config(4, here), config(5, here))
	s.next(t)
	began := time.Now()
	cancel()
	tell.Wait()
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	tell.Changed(config(5, here), config(6, here)) // no more
	tell.Wait()
}

// With a key, notifications are signed, and their answers must be.
func TestNOTIFYIsSignedWithTSIG(t *testing.T) {
	key := farm.TransferKey{Name: "ns2.example.com", Secret: "MDEyMzQ1Njc4OWFiY2RlZg=="}
	signs := func(e *rdata.Exchange, msg []byte) []byte {
		at := bytes.LastIndex(msg, []byte("\x03ns2\x07example\x03com\x00")) // the question and the zone's serial, without the signature
		plain := notified(msg[:at])
		plain[11] = 0
		if e == nil {
			return plain
		}
		return e.Sign(plain)
	}
	var answers atomic.Int32
	s := listens(t, func(msg []byte) []byte {
		e, _, err := rdata.Verified(msg, []farm.TransferKey{key})
		if err != nil {
			t.Errorf("it is not signed as it should be: %v", err)
			return nil
		}
		if answers.Add(1) == 1 {
			return signs(nil, msg) // from another sender
		}
		return signs(e, msg)
	})
	ctx, cancel := context.WithCancel(t.Context())
	log := &logtest.Log{}
	opened := func(k farm.TransferKey) (farm.TransferKey, error) {
		if k.Secret != "sealed-x" {
			return k, errors.New("it is another key")
		}
		return key, nil
	}
	tell := secondaries.New(ctx, secondaries.Options{Port: s.port, Waits: []time.Duration{0}, Patience: 500 * time.Millisecond, Open: opened, Log: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(func() { cancel(); tell.Wait() })
	now := config(5, here)
	now.Farms[0].Global.Keys = []farm.TransferKey{{Name: key.Name, Secret: "sealed-x"}, {Name: "second", Secret: "sealed-y"}}
	tell.Changed(config(4, here), now)
	log.Await(t, "a secondary was told of a zone")
	if n := answers.Load(); n != 2 {
		t.Errorf("%d notifications: an unsigned answer does not count", n)
	}
}

// Each try has the current state: a server that was silent may get a newer serial, and
// another key, than in the previous try.
func TestRetryUsesTheCurrentState(t *testing.T) {
	key := farm.TransferKey{Name: "ns2.example.com", Secret: "MDEyMzQ1Njc4OWFiY2RlZg=="}
	verified := make(chan bool, 10)
	s := listens(t, func(msg []byte) []byte {
		_, _, err := rdata.Verified(msg, []farm.TransferKey{key})
		verified <- err == nil
		return nil
	})
	tell, _ := teller(t, s.port, time.Millisecond)
	tell.Changed(config(4, here), config(5, here))
	first := s.next(t)
	now := config(6, here)
	now.Farms[0].Global.Keys = []farm.TransferKey{key}
	tell.Changed(config(5, here), now)
	second := s.next(t)
	if first.serial != 5 || <-verified || second.serial != 6 || !<-verified {
		t.Errorf("serials %d and %d were sent", first.serial, second.serial)
	}
}
