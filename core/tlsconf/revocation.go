package tlsconf

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// revocations holds the CRLs of an authority. With at least one CRL, each certificate
// of a chain needs a current CRL of its issuer that does not list it, as in nginx and
// HAProxy. The last certificate of a chain is trusted unless its issuer is in the
// authority and has a CRL.
type revocations struct {
	crls map[digest]*crl // by issuer
	// above maps certificates of the authority (DER) to the ID of their issuer, if they
	// are not self-issued and the issuer is in the authority.
	above map[string]digest
	// checked counts the signature checks during loading.
	checked int
}

// maxChecked limits the signature checks for loading an authority. Thousands of
// certificates with the same names must not delay a snapshot.
const maxChecked = 5000

var errPuzzle = fmt.Errorf("its certificates have the same names so often that more than %d signatures would have to be checked", maxChecked)

// serial is a serial number, padded with leading zeros (at most 20 bytes, RFC 5280
// §4.1.2.2). A million of them take 20 MB; a map would take several times that.
type serial [20]byte

// crl is the content of one issuer's CRL.
type crl struct {
	from, until time.Time // zero until: no end
	serials     []serial  // sorted
}

func (c *crl) holds(n *big.Int) bool {
	s, ok := serialOf(n)
	_, found := slices.BinarySearchFunc(c.serials, s, compareSerials)
	return !ok || found
}

func compareSerials(a, b serial) int { return bytes.Compare(a[:], b[:]) }

func serialOf(n *big.Int) (s serial, ok bool) {
	if n.Sign() < 0 || n.BitLen() > 8*len(s) {
		return s, false
	}
	n.FillBytes(s[:])
	return s, true
}

// issuerID returns the digest of an issuer's name and key, which identifies it for
// CRLs.
func issuerID(c *x509.Certificate) digest {
	buf := make([]byte, 0, 1024)
	buf = append(buf, byte(len(c.RawSubject)>>8), byte(len(c.RawSubject)))
	buf = append(buf, c.RawSubject...)
	return sha256.Sum256(append(buf, c.RawSubjectPublicKeyInfo...))
}

// load parses CRLs. One of the certificates must have signed each of them. If an issuer has
// several, the newest is used.
func (r *revocations) load(ders [][]byte, certificates []*x509.Certificate) error {
	size := 0
	for _, der := range ders {
		size += len(der)
	}
	if size > MaxCRLBytes {
		return fmt.Errorf("its CRLs have %d bytes: at most %d are read", size, MaxCRLBytes)
	}
	r.crls = make(map[digest]*crl)
	for i, der := range ders {
		if err := r.add(der, certificates); err != nil {
			return fmt.Errorf("CRL %d: %w", i, err)
		}
	}
	if len(ders) == 0 {
		return nil
	}
	return r.loadAbove(certificates)
}

func (r *revocations) loadAbove(certificates []*x509.Certificate) error {
	bySubject := make(map[string][]*x509.Certificate)
	for _, c := range certificates {
		bySubject[string(c.RawSubject)] = append(bySubject[string(c.RawSubject)], c)
	}
	r.above = make(map[string]digest)
	for _, c := range certificates {
		if bytes.Equal(c.RawSubject, c.RawIssuer) {
			continue
		}
		for _, issuer := range bySubject[string(c.RawIssuer)] {
			if r.checked++; r.checked > maxChecked {
				return errPuzzle
			}
			if c.CheckSignatureFrom(issuer) == nil {
				r.above[string(c.Raw)] = issuerID(issuer)
				break
			}
		}
	}
	return nil
}

func (r *revocations) add(der []byte, certificates []*x509.Certificate) error {
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	read, err := newCRL(list)
	if err != nil {
		return err
	}
	reason, signed := errors.New("none of the certificates is its issuer"), false
	for _, c := range certificates {
		if !bytes.Equal(c.RawSubject, list.RawIssuer) {
			continue
		}
		if r.checked++; r.checked > maxChecked {
			return errPuzzle
		}
		if err := list.CheckSignatureFrom(c); err != nil {
			reason = fmt.Errorf("its issuer did not sign it: %w", err)
			continue
		}
		signed = true
		id := issuerID(c)
		if known := r.crls[id]; known == nil || known.from.Before(read.from) {
			r.crls[id] = read
		}
	}
	if !signed {
		return fmt.Errorf("%q: %w", list.Issuer, reason)
	}
	return nil
}

// newCRL extracts the serial numbers. It rejects critical extensions, because they
// change the meaning of the list (RFC 5280 §5.2).
func newCRL(list *x509.RevocationList) (*crl, error) {
	out := &crl{from: list.ThisUpdate, until: list.NextUpdate, serials: make([]serial, 0, len(list.RevokedCertificateEntries))}
	if err := understood(list.Extensions); err != nil {
		return nil, err
	}
	for i := range list.RevokedCertificateEntries {
		e := &list.RevokedCertificateEntries[i]
		if err := understood(e.Extensions); err != nil {
			return nil, err
		}
		s, ok := serialOf(e.SerialNumber)
		if !ok {
			return nil, errors.New("it holds a serial number of more than 20 bytes")
		}
		out.serials = append(out.serials, s)
	}
	slices.SortFunc(out.serials, compareSerials)
	return out, nil
}

func understood(extensions []pkix.Extension) error {
	for _, e := range extensions {
		if e.Critical {
			return fmt.Errorf("it has the critical extension %v: only complete CRLs of their issuer are used", e.Id)
		}
	}
	return nil
}

func (r *revocations) tell(info *AuthorityInfo) {
	for _, c := range r.crls {
		info.Revoked += len(c.serials)
		if !c.until.IsZero() && (info.NextUpdate.IsZero() || c.until.Before(info.NextUpdate)) {
			info.NextUpdate = c.until
		}
	}
}

// verified returns nil if at least one of the chains found by crypto/x509 has no
// certificate that is or may be revoked. It fails if there are no chains.
func (r *revocations) verified(chains [][]*x509.Certificate, now time.Time) error {
	err := errors.New("the certificate was not verified")
	for _, chain := range chains {
		if err = r.chain(chain, now); err == nil {
			return nil
		}
	}
	return err
}

func (r *revocations) chain(chain []*x509.Certificate, now time.Time) error {
	if len(r.crls) == 0 {
		return nil
	}
	for i, c := range chain {
		var issuer digest
		if i+1 < len(chain) {
			issuer = issuerID(chain[i+1])
		} else {
			above, ok := r.above[string(c.Raw)]
			if !ok || r.crls[above] == nil {
				continue
			}
			issuer = above
		}
		list := r.crls[issuer]
		switch {
		case list == nil:
			return fmt.Errorf("%w: %s", ErrCRLMissing, c.Issuer)
		case now.Before(list.from) || !list.until.IsZero() && now.After(list.until):
			return fmt.Errorf("%w: %s", ErrCRLExpired, c.Issuer)
		case list.holds(c.SerialNumber):
			return fmt.Errorf("%w: serial %x of %s", ErrRevoked, c.SerialNumber, c.Issuer)
		}
	}
	return nil
}
