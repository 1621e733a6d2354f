package loop

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	if os.Getenv("LOOP_NO_WAY_INSIDE") != "" {
		inside.found = false
	}
}

// SegmentsSent returns the number of data segments sent by the connection.
func (c *Conn) SegmentsSent() int {
	info, err := unix.GetsockoptTCPInfo(int(c.fd), unix.SOL_TCP, unix.TCP_INFO)
	if err != nil {
		panic(err)
	}
	return int(info.Data_segs_out)
}

// SetSendBuffer limits the bytes that the kernel holds for a peer that does not read.
func (c *Conn) SetSendBuffer(bytes int) {
	if err := unix.SetsockoptInt(int(c.fd), unix.SOL_SOCKET, unix.SO_SNDBUF, bytes); err != nil {
		panic(err)
	}
}

// Certificate returns a self-signed certificate for loop.test with a key of the given
// kind: P-256, P-384, Ed25519 or RSA.
func Certificate(kind string) tls.Certificate {
	made, _ := certificates.LoadOrStore(kind, sync.OnceValue(func() tls.Certificate { return issue(kind) }))
	return made.(func() tls.Certificate)()
}

var certificates sync.Map

func issue(kind string) tls.Certificate {
	key := newKey(kind)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: kind},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"loop.test"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func newKey(kind string) crypto.Signer {
	var key crypto.Signer
	var err error
	switch kind {
	case "P-256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "P-384":
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "Ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "RSA":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		panic(err)
	}
	return key
}

// OpenCounts returns the descriptor counts of the process: connections, connected UDP
// sockets, listeners and UDP listeners.
func OpenCounts() [4]int64 {
	d := &descriptors
	return [4]int64{d.conns.Load(), d.udpConns.Load(), d.listeners.Load(), d.udpListeners.Load()}
}

// Pipes returns the number of pipes for splicing and how many of them are free.
func (l *Loop) Pipes() (open, free int) { return l.pipes.open, len(l.pipes.free) }

// Event delivers events to c as if the poller had reported them.
func (c *Conn) Event(events uint32) { c.loop.serve(c, events) }
