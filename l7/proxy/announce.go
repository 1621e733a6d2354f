package proxy

import (
	"crypto/tls"
	"encoding/binary"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/table"
)

// A service may announce its clients to its backends: each connection begins with a PROXY
// header, before TLS. Such a connection is reserved for its client, as with a pinned service.

// announce adds the PROXY header for the client connection c to the target of a new
// connection. The result is valid until the next call on the loop.
func (w *worker) announce(c *loop.Conn, to *dial.Target) *dial.Target {
	if to != &w.target {
		w.target = *to
	}
	tlvs := w.addressed[:0]
	if to.Announce == proxyproto.V2 {
		tlvs = appendTLVs(tlvs, c.TLS())
	}
	n := len(tlvs)
	b := proxyproto.Append(tlvs, to.Announce, c.Peer(), c.Local(), tlvs)
	w.addressed = b
	w.target.Options.Preface = b[n:]
	return &w.target
}

// notVerified is the value for a missing client certificate; 0 means verified by a CA of the
// farm.
const notVerified = 1

// appendTLVs appends the properties of the client's TLS connection.
func appendTLVs(dst []byte, t *loop.TLS) []byte {
	if t == nil {
		return dst
	}
	dst = proxyproto.AppendTLV(dst, proxyproto.TypeALPN, t.Protocol)
	dst = proxyproto.AppendTLV(dst, proxyproto.TypeAuthority, t.ServerName)
	start := len(dst)
	dst = append(dst, proxyproto.TypeSSL, 0, 0, proxyproto.ClientSSL)
	if len(t.Peer) > 0 {
		dst[start+3] |= proxyproto.ClientCertSess
		if !t.Resumed {
			dst[start+3] |= proxyproto.ClientCertConn
		}
		dst = append(dst, 0, 0, 0, 0)
	} else {
		dst = append(dst, 0, 0, 0, notVerified)
	}
	dst = proxyproto.AppendTLV(dst, proxyproto.SubtypeSSLVersion, table.VersionName(t.Version))
	if len(t.Peer) > 0 {
		dst = proxyproto.AppendTLV(dst, proxyproto.SubtypeSSLCN, t.Peer[0].Subject.CommonName)
	}
	dst = proxyproto.AppendTLV(dst, proxyproto.SubtypeSSLCipher, tls.CipherSuiteName(t.Cipher))
	binary.BigEndian.PutUint16(dst[start+1:], uint16(len(dst)-start-3))
	return dst
}
