package peers

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
)

// startTime bounds the start of a contestant.
const startTime = 15 * time.Second

// ready waits until a request through the contestant gets a 200.
func ready(ctx context.Context, p *launch.Process, s Setup) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := probe(s)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("ended while starting: %w", p.Err())
		case <-ctx.Done():
			return fmt.Errorf("no right answer on port %d: %w", s.Port, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// probe requests the small body like a client of the last service.
func probe(s Setup) error {
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.Port)
	if s.Datagrams {
		return probeDatagrams(to)
	}
	conn, err := net.DialTimeout("tcp", to.String(), time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	if s.Secure != "" {
		// The load verifies the certificate; this only waits for a response.
		conn = tls.Client(conn, &tls.Config{ServerName: cases.PlainHost, InsecureSkipVerify: true})
	}
	host, path := address(s)
	if _, err := fmt.Fprintf(conn, "GET %s128 HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	const want = "HTTP/1.1 200"
	if len(line) < len(want) || line[:len(want)] != want {
		return fmt.Errorf("answered %q", line)
	}
	return nil
}

// probeDatagrams waits for a datagram to come back.
func probeDatagrams(to netip.AddrPort) error {
	conn, err := net.Dial("udp", to.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if _, err := conn.Write([]byte("ready?")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 10))
	return err
}

func address(s Setup) (host, path string) {
	services := s.Services()
	last := services[len(services)-1]
	if s.Set == cases.Regex {
		return last.RegexHost, last.RegexPath
	}
	return last.Host, last.Prefix
}
