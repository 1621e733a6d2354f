package table

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// Inserted is the cookie that keeps clients of a service on their backends without state
// here. Its value is a digest of the backend's number. It reveals no address and is the same
// after restarts and on every node with this configuration. It is not a secret: a forged
// value only selects among the backends the client could have got anyway.
type Inserted struct {
	Name   []byte         // cookie name
	Renew  bool           // it has a lifetime, so each response renews it: browsers do not tell its age
	values map[string]int // value → position of the backend
}

// valueBytes is the number of digest bytes used: 16 characters.
const valueBytes = 12

// newInserted compiles a service's cookie and the Set-Cookie line of each backend. It
// returns nil without a cookie or if the service has another persistence.
func newInserted(s *farm.Service, backends []Backend, https bool) (*Inserted, error) {
	c := s.Cookie
	if c == nil || s.EffectivePersistence() != farm.PersistNone {
		return nil, nil
	}
	if !http1.Token([]byte(c.Name)) {
		return nil, fmt.Errorf("%q is no name of a cookie", c.Name)
	}
	in := &Inserted{Name: []byte(c.Name), Renew: c.TTL > 0, values: map[string]int{}}
	for i := range backends {
		value := CookieValue(s.ID, backends[i].ID)
		in.values[value] = i
		line, err := cookieLine(c, value, https)
		if err != nil {
			return nil, err
		}
		backends[i].SetCookie = line
	}
	return in, nil
}

// CookieValue returns the cookie value of a backend of a service.
func CookieValue(service, backend uint32) string {
	b := []byte("sluice cookie")
	b = binary.BigEndian.AppendUint32(b, service)
	b = binary.BigEndian.AppendUint32(b, backend)
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:valueBytes])
}

// cookieLine returns the Set-Cookie line (RFC 6265 section 4.1).
func cookieLine(c *farm.CookieInsert, value string, https bool) ([]byte, error) {
	path := c.Path
	if path == "" {
		path = "/"
	}
	text := c.Name + "=" + value + "; Path=" + path
	if c.Domain != "" {
		text += "; Domain=" + c.Domain
	}
	if c.TTL > 0 {
		text += "; Max-Age=" + strconv.Itoa(int(c.TTL))
	}
	text += "; HttpOnly"
	switch c.SameSite {
	case "", farm.SameSiteLax:
		text += "; SameSite=Lax"
	case farm.SameSiteNone:
		text += "; SameSite=None"
	case farm.SameSiteStrict:
		text += "; SameSite=Strict"
	}
	if c.Secure(https) {
		text += "; Secure"
	}
	for _, part := range []string{path, c.Domain} {
		for i := range len(part) {
			if part[i] <= ' ' || part[i] >= 0x7f || part[i] == ';' || part[i] == ',' {
				return nil, fmt.Errorf("%q can be no attribute of a cookie", part)
			}
		}
	}
	v, ok := http1.CheckValue([]byte(text))
	if !ok {
		return nil, errors.New("the cookie is no field value")
	}
	return http1.AppendField(nil, "Set-Cookie", v), nil
}

// find returns the position of the backend in the request's cookie, or -1.
func (c *Inserted) find(h *http1.Head) int {
	for i := h.Find(http1.KnownCookie); i >= 0 && i < h.NumFields; i++ {
		if h.Fields[i].Known != http1.KnownCookie || h.Fields[i].Removed() {
			continue
		}
		for rest := h.Value(i); len(rest) > 0; {
			var value []byte
			if value, rest = nextCookie(rest, c.Name); value != nil {
				if at, ok := c.values[string(value)]; ok {
					return at
				}
			}
		}
	}
	return -1
}
