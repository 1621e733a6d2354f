package forward_test

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

// bulkSize returns the number of bytes sent in each direction.
func bulkSize() int64 {
	if testing.Short() {
		return 16 << 20
	}
	return 256 << 20
}

func TestManyBytesArriveUnchangedBothWaysAtOnce(t *testing.T) {
	a := newAppliance(t, 2)
	size := bulkSize()
	backendGot := make(chan []byte, 1)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = io.Copy(c, io.LimitReader(rand.NewChaCha8([32]byte{1}), size))
			_ = c.CloseWrite()
		})
		sum := sha256.New()
		_, _ = io.Copy(sum, c)
		wg.Wait()
		backendGot <- sum.Sum(nil)
	}).at())
	a.publish(f)
	c := a.dial(f)
	_ = c.SetDeadline(time.Now().Add(100 * time.Second))
	go func() {
		_, _ = io.Copy(c, io.LimitReader(rand.NewChaCha8([32]byte{2}), size))
		_ = c.CloseWrite()
	}()
	sum := sha256.New()
	if n, err := io.Copy(sum, c); err != nil || n != size {
		t.Fatalf("got %d bytes came, %v, want %d", n, err, size)
	}
	for seed, got := range map[byte][]byte{1: sum.Sum(nil), 2: <-backendGot} {
		want := sha256.New()
		_, _ = io.Copy(want, io.LimitReader(rand.NewChaCha8([32]byte{seed}), size))
		if !bytes.Equal(got, want.Sum(nil)) {
			t.Errorf("other bytes arrived from side %d", seed)
		}
	}
	eventually(t, "the connection has ended", func() bool { return a.stats().Established == 0 })
	if s := a.stats(); s.BytesIn != uint64(size) || s.BytesOut != uint64(size) {
		t.Errorf("%d bytes in and %d out were counted", s.BytesIn, s.BytesOut)
	}
}

func TestNonReadingClientsUseBoundedMemory(t *testing.T) {
	const clients = 64
	a := newAppliance(t, 1)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		_ = c.SetWriteBuffer(256 << 10) // this buffer is soon full
		chunk := make([]byte, 1<<20)
		for {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	}).at())
	a.publish(f)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range clients {
		c := a.dial(f)
		_ = c.SetReadBuffer(4 << 10)
	}
	last, still := uint64(0), 0
	for end := time.Now().Add(time.Minute); still < 4; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("bytes move for a minute")
		}
		now := a.backend(1).BytesIn
		still++
		if now != last || now == 0 || a.stats().Established != clients || a.stats().Pending != 0 {
			last, still = now, 0
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// Clients without a pipe use 64 KiB each; the servers' own chunks belong to the test.
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > clients*(1<<20+128<<10) {
		t.Errorf("the heap grew by %d KiB for %d clients", grown>>10, clients)
	}
	if got := line(t, a.dial(a.echoFarm())); got != "alive" {
		t.Errorf("got %q, want %q", got, "alive")
	}
}
