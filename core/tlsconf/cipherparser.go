package tlsconf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// standing is the state of a suite while the parts of a cipher string are applied.
type standing uint8

const (
	off standing = iota
	on
	killed // by '!': later parts cannot add it back
)

// cipherParser applies the parts of a cipher string in order, like
// ssl_cipher_process_rulestr of OpenSSL.
type cipherParser struct {
	rest     string
	standing []standing // by position in suites
	level    int        // @SECLEVEL
	unknown  []string
	absent   []string
}

func parseCiphers(s string) ([]uint16, error) {
	if len(s) > MaxCipherString {
		return nil, fmt.Errorf("the cipher string has %d bytes: at most %d are read", len(s), MaxCipherString)
	}
	p := cipherParser{rest: s, standing: make([]standing, len(suites))}
	p.leadingDefault()
	for {
		p.rest = strings.TrimLeft(p.rest, ":,; ")
		if p.rest == "" {
			break
		}
		if err := p.part(); err != nil {
			return nil, err
		}
	}
	if err := p.problem(); err != nil {
		return nil, err
	}
	ids := p.left()
	if len(ids) == 0 {
		return nil, errors.New("the cipher string leaves no suite of TLS 1.0 to 1.2 that can be offered: name at least one, for instance ECDHE+AESGCM")
	}
	return ids, nil
}

// leadingDefault applies DEFAULT, which is only valid as the first word.
func (p *cipherParser) leadingDefault() {
	rest, ok := strings.CutPrefix(p.rest, "DEFAULT")
	if !ok || rest != "" && wordByte(rest[0]) && rest[0] != '-' {
		return
	}
	p.rest = rest
	p.apply(0, keywords["ALL"])
	p.apply('!', keywords["COMPLEMENTOFDEFAULT"])
	p.apply('!', keywords["eNULL"])
}

// part reads and applies one part: an optional prefix and words joined by '+'.
func (p *cipherParser) part() error {
	var prefix byte
	if strings.IndexByte("!-+@", p.rest[0]) >= 0 {
		prefix, p.rest = p.rest[0], p.rest[1:]
	}
	if prefix == '@' {
		return p.special()
	}
	pattern, hollow := word{}, false
	for {
		name := p.word()
		if name == "" {
			return p.unexpected()
		}
		w, ok := p.lookUp(name)
		if !ok {
			hollow = true
		}
		if w.absent && prefix == 0 {
			p.absent = append(p.absent, name)
		}
		hollow = !narrow(&pattern, w) || hollow
		if !strings.HasPrefix(p.rest, "+") {
			break
		}
		p.rest = p.rest[1:]
	}
	if !hollow {
		p.apply(prefix, pattern)
	}
	return nil
}

// lookUp returns false for a word that matches nothing: a TLS 1.3 suite or an unknown
// word.
func (p *cipherParser) lookUp(name string) (word, bool) {
	w, ok := vocabulary()[name]
	switch {
	case ok || tls13Names[name]:
	case name == "DEFAULT":
		p.unknown = append(p.unknown, `DEFAULT (it has a meaning as the first word only)`)
	case strings.HasPrefix(name, "SUITEB"):
		p.unknown = append(p.unknown, name+" (it rules certificates too: write its suites and ecdhcurve out)")
	case strings.HasPrefix(name, "TLS_") && strings.Contains(name, "_WITH_"):
		return word{kx: kxOther, absent: true}, true
	default:
		p.unknown = append(p.unknown, name+meant(name))
	}
	return w, ok
}

// meant returns a hint if name differs from a known word only in case.
func meant(name string) string {
	for known := range vocabulary() {
		if strings.EqualFold(known, name) {
			return " (write " + known + ")"
		}
	}
	return ""
}

// narrow intersects pattern with w. It returns false if the intersection is empty.
func narrow(pattern *word, w word) bool {
	ok := both(&pattern.kx, w.kx, ^uint16(0)) && both(&pattern.auth, w.auth, ^uint16(0)) &&
		both(&pattern.enc, w.enc, ^uint16(0)) && both(&pattern.mac, w.mac, ^uint16(0)) &&
		both(&pattern.strength, w.strength, maskStrength) && both(&pattern.strength, w.strength, strengthNotDefault)
	if w.id != 0 || w.absent {
		// As in OpenSSL, the last suite named wins and its version is ignored.
		pattern.id = w.id
		return ok
	}
	if w.lowest != 0 {
		ok = ok && (pattern.lowest == 0 || pattern.lowest == w.lowest)
		pattern.lowest = w.lowest
	}
	return ok
}

// both intersects two sets within mask. An empty set is no condition. It returns false
// if the intersection is empty.
func both(a *uint16, b, mask uint16) bool {
	switch {
	case b&mask == 0:
	case *a&mask == 0:
		*a |= b & mask
	default:
		*a &= b | ^mask
		return *a&mask != 0
	}
	return true
}

func (s *suite) matches(p *word) bool {
	shares := func(want, has uint16) bool { return want == 0 || want&has != 0 }
	return (p.id == 0 || p.id == s.id) && shares(p.kx, s.kx) && shares(p.auth, s.auth) && shares(p.enc, s.enc) && shares(p.mac, s.mac) &&
		(p.lowest == 0 || p.lowest == s.lowest) &&
		shares(p.strength&maskStrength, s.strength) && shares(p.strength&strengthNotDefault, s.strength)
}

// asksFor reports whether a matching pattern selects the suite. Weak suites must be
// named explicitly, by cipher or suite.
func (s *suite) asksFor(p *word) bool {
	return !s.weak() || p.id != 0 || p.enc != 0 && p.enc&^(encRC4|enc3DES) == 0
}

func (p *cipherParser) apply(prefix byte, pattern word) {
	for i := range suites {
		s := &suites[i]
		if p.standing[i] == killed || !s.matches(&pattern) {
			continue
		}
		switch {
		case prefix == '!':
			p.standing[i] = killed
		case prefix == '-':
			p.standing[i] = off
		case prefix == 0 && s.asksFor(&pattern):
			p.standing[i] = on
		}
	}
}

// special applies @STRENGTH and @SECLEVEL=n.
func (p *cipherParser) special() error {
	name := p.word()
	if digit, ok := strings.CutPrefix(name, "SECLEVEL="); ok && len(digit) == 1 && digit[0] >= '0' && digit[0] <= '5' {
		p.level = int(digit[0] - '0')
		return nil
	}
	if name != "STRENGTH" {
		return fmt.Errorf("@%s is no command of a cipher string: @STRENGTH and @SECLEVEL=0 to 5 are", name)
	}
	return nil
}

// word consumes the next word.
func (p *cipherParser) word() string {
	n := 0
	for n < len(p.rest) && wordByte(p.rest[n]) {
		n++
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	return name
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.=", c) >= 0
}

func (p *cipherParser) unexpected() error {
	if p.rest == "" {
		return errors.New("the cipher string ends where a word should be")
	}
	return fmt.Errorf("the cipher string has %q where a word should be", p.rest[0])
}

func (p *cipherParser) problem() error {
	var say []string
	if len(p.unknown) > 0 {
		say = append(say, "unknown in a cipher string: "+strings.Join(few(p.unknown), ", "))
	}
	if len(p.absent) > 0 {
		say = append(say, "not offered by crypto/tls, take out or exclude: "+strings.Join(few(p.absent), ", "))
	}
	if len(say) == 0 {
		return nil
	}
	return errors.New(strings.Join(say, "; "))
}

// few sorts and deduplicates names and limits their number and lengths for display.
func few(names []string) []string {
	const most, longest = 12, 160
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for i, name := range names {
		if len(name) > longest {
			names[i] = strings.ToValidUTF8(name[:longest], "") + "…"
		}
	}
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return names
}

// levelBits are the minimum security bits of a suite for each @SECLEVEL (OpenSSL,
// ssl_security_default_callback).
var levelBits = [...]int{0, 80, 112, 128, 192, 256}

// left returns the enabled suites that satisfy the security level.
func (p *cipherParser) left() []uint16 {
	var ids []uint16
	for i := range suites {
		s := &suites[i]
		bits := levelBits[p.level]
		switch {
		case p.standing[i] != on || s.bits < bits:
		case bits > 160 && s.mac == macSHA1:
		case p.level >= 3 && !s.forwardSecret():
		default:
			ids = append(ids, s.id)
		}
	}
	return ids
}
