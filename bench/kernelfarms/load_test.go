package kernelfarms

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// watch measures the CPU time of the working thread, which other processes hardly affect.
type watch struct {
	was   time.Duration
	began time.Time
}

// start must be called on the measured thread.
func start() watch { return watch{was: spent(), began: time.Now()} }

func (w watch) seconds() float64 {
	if byWall {
		return time.Since(w.began).Seconds()
	}
	return (spent() - w.was).Seconds()
}

func spent() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // always available
	return time.Duration(t.Nano())
}

// byWall is true if the kernel does not charge the processing of packets to the thread
// (CONFIG_IRQ_TIME_ACCOUNTING). Only the wall clock then includes it.
var byWall bool

// chooseClock detects the accounting of this kernel: a sending thread spends nearly all
// its time in packet processing.
func (s *side) chooseClock() {
	share := 0.0
	for range 5 { // another process may have used the CPU
		byWall = true
		rate := s.send(10_000, false)
		byWall = false
		share = max(share, rate/s.send(10_000, false))
	}
	byWall = share < 0.7
	s.t.Logf("a sending thread is charged %.2f of its time; measured by the wall: %v", share, byWall)
}

// connect opens and resets connections for the duration d and returns their number per
// second of the thread.
func (s *side) connect(d time.Duration) (rate float64) {
	to := unix.SockaddrInet4{Addr: netip.MustParseAddr(s.vip).As4(), Port: 80}
	s.Client.Do(func() {
		n, w := 0, start()
		for time.Since(w.began) < d {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
				err = unix.Connect(fd, &to)
				_ = unix.Close(fd)
			}
			if err != nil {
				s.t.Errorf("connecting: %v", err)
				return
			}
			n++
		}
		rate = float64(n) / w.seconds()
	})
	s.Appliance.Run("conntrack", "-F")
	return rate
}

// piece is the number of bytes per write. It fits the window, so one thread can first
// send and then receive it.
const piece = 48 << 10

// fetch has a backend send for the duration d and returns the bytes per second of the
// thread, which is both ends, so that its time includes the whole path.
func (s *side) fetch(d time.Duration) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	to, err := s.Client.Dial(context.Background(), "tcp", s.vip+":81")
	if err != nil {
		s.t.Fatal(err)
	}
	defer to.Close()
	from := <-s.accepted
	defer from.Close()
	// Fixed buffer sizes: automatic sizing would vary the bytes per write between
	// connections.
	_ = from.(*net.TCPConn).SetWriteBuffer(1 << 20)
	_ = to.(*net.TCPConn).SetReadBuffer(1 << 20)
	b, n := make([]byte, piece), 0
	pass := func() {
		if _, err := from.Write(b); err != nil {
			s.t.Fatal(err)
		}
		if _, err := io.ReadFull(to, b); err != nil {
			s.t.Fatal(err)
		}
	}
	for range 50 { // pass slow start
		pass()
	}
	w := start()
	for time.Since(w.began) < d {
		pass()
		n += piece
	}
	return float64(n) / w.seconds()
}

// send sends datagrams of one flow, or each of its own, and returns their number per
// second of the thread.
func (s *side) send(count int, flows bool) (rate float64) {
	frame := s.datagram()
	s.Client.Do(func() {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			s.t.Error(err)
			return
		}
		defer unix.Close(fd)
		device, err := net.InterfaceByName("eth0")
		if err != nil {
			s.t.Error(err)
			return
		}
		to := &unix.SockaddrLinklayer{Ifindex: device.Index, Halen: 6}
		w := start()
		for i := range count {
			if flows {
				binary.BigEndian.PutUint16(frame[34:], uint16(10000+i))
			}
			if err := unix.Sendto(fd, frame, 0, to); err != nil {
				s.t.Error(err)
				return
			}
		}
		rate = float64(count) / w.seconds()
	})
	s.Appliance.Run("conntrack", "-F")
	return rate
}

// datagram returns a 64-byte frame to port 9 of the VIP. UDP over IPv4 needs no checksum.
func (s *side) datagram() []byte {
	f := make([]byte, 14+20+8+22)
	copy(f, s.FrontLink.MAC)
	copy(f[6:], s.ClientLinks[0].MAC)
	f[12], f[13] = 0x08, 0x00
	ip := f[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, unix.IPPROTO_UDP
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	copy(ip[12:], netip.MustParseAddr("10.10.1.2").AsSlice())
	copy(ip[16:], netip.MustParseAddr(s.vip).AsSlice())
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	binary.BigEndian.PutUint16(ip[20:], 5000)
	binary.BigEndian.PutUint16(ip[22:], 9)
	binary.BigEndian.PutUint16(ip[24:], uint16(len(ip)-20))
	return f
}
