package rdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// Check is Pack for user input. It also rejects data that other servers reject, because
// those would not load the zone.
func Check(t farm.RecordType, text, zone string) ([]byte, error) {
	data, err := Pack(t, text, zone)
	if err == nil && withTexts[t] && hasLooseParenthesis(Master(t, text)) {
		err = ErrParenthesis
	}
	return checked(t, text, data, err)
}

// ErrParenthesis prevents texts from losing their parentheses, which group words in a file.
var ErrParenthesis = errors.New(`it has a parenthesis outside of quotes, which groups words in zone files and is not part of the text; write the text in quotes, as 10 1 "https://www.example.com/A_(b)"`)

// withTexts are the types whose data contain texts. In data of other types parentheses only
// group words.
var withTexts = map[farm.RecordType]bool{
	"TXT": true, "SPF": true, "AVC": true, "NINFO": true, "RESINFO": true, "WALLET": true, "CLA": true, "HINFO": true, "ISDN": true, "X25": true, "GPOS": true,
	"CAA": true, "NAPTR": true, "URI": true, "DOA": true, "SVCB": true, "HTTPS": true,
}

// CheckMaster is Check for data from a master file, without comments. Shorthand is not
// completed.
func CheckMaster(t farm.RecordType, text, origin string) ([]byte, error) {
	data, err := parse(t, text, origin)
	return checked(t, text, data, err)
}

func checked(t farm.RecordType, text string, data []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if t == "SOA" && !strings.HasPrefix(text, `\#`) && len(words(text)) != 7 {
		return nil, noData(t, text) // the library adds a minimum
	}
	if err := sound(Code(t), data); err != nil {
		return nil, fmt.Errorf("%q is no data of %s: %w", text, t, err)
	}
	return data, nil
}

// ErrUnsound is wrapped by errors about data that have the syntax of their type but
// violate its rules.
var ErrUnsound = errors.New("other name servers do not load it")

func unsound(format string, args ...any) error {
	return fmt.Errorf(format+" (%w)", append(args, ErrUnsound)...)
}

func sound(code uint16, data []byte) error {
	if l := layouts[code]; l != nil {
		if _, ok := l.text(data); !ok {
			return unsound("they are not complete data of the type")
		}
	}
	switch code {
	case dns.TypeLOC:
		return soundLOC(data)
	case dns.TypeX25:
		if len(data) < 5 || strings.Trim(string(data[1:]), "0123456789") != "" {
			return unsound("it must be an address of at least 4 digits")
		}
	case dns.TypeURI:
		if len(data) <= 4 { // RFC 7553 §4.4
			return unsound("its address must not be empty")
		}
	case dns.TypeIPSECKEY:
		return soundGateway(data[1], len(data) == gatewayEnd(data[1], data))
	case dns.TypeSVCB, dns.TypeHTTPS:
		return soundService(data)
	case dns.TypeCAA:
		return soundCAA(data)
	case dns.TypeNAPTR:
		return soundNAPTR(data)
	}
	return nil
}

// soundService checks service parameters by RFC 9460 §7 and §8.
func soundService(data []byte) error {
	_, _, list, _ := params(data)
	has, last := map[uint16][]byte{}, -1
	for _, p := range list {
		if int(p.key) <= last {
			return unsound("parameter %s is there twice or out of order", dns.SVCBKey(p.key))
		}
		if problem := soundParam(p.key, p.value); problem != "" {
			return unsound("parameter %s %s", dns.SVCBKey(p.key), problem)
		}
		has[p.key], last = p.value, int(p.key)
	}
	if _, is := has[paramNoDefaultALPN]; is && has[paramALPN] == nil {
		return unsound("no-default-alpn needs alpn beside it")
	}
	for list, last := has[paramMandatory], 0; len(list) > 0; list = list[2:] {
		key := binary.BigEndian.Uint16(list)
		switch _, is := has[key]; {
		case key == paramMandatory:
			return unsound("mandatory must not name itself")
		case int(key) <= last:
			return unsound("mandatory names %s twice or out of order", dns.SVCBKey(key))
		case !is:
			return unsound("mandatory names %s, which is not there", dns.SVCBKey(key))
		}
		last = int(key)
	}
	return nil
}

// soundParam describes the error in the value of one parameter; "" if there is none.
func soundParam(key uint16, value []byte) string {
	switch key {
	case paramMandatory:
		return sizeProblem(value, 2)
	case paramALPN:
		if len(value) == 0 {
			return "must not be empty"
		}
		for rest := value; len(rest) > 0; rest = rest[1+int(rest[0]):] {
			if rest[0] == 0 || int(rest[0]) >= len(rest) {
				return "has an empty or incomplete protocol"
			}
		}
	case paramNoDefaultALPN, paramOHTTP:
		if len(value) > 0 {
			return "has no value"
		}
	case paramPort:
		if len(value) != 2 {
			return "must be a port"
		}
	case paramIPv4Hint:
		return sizeProblem(value, 4)
	case paramIPv6Hint:
		return sizeProblem(value, 16)
	case paramDoHPath:
		if !utf8.Valid(value) || !dohTemplate.Match(value) || !dohVariable.Match(value) {
			return "must be a path with the variable dns, as /dns-query{?dns}"
		}
	}
	return ""
}

// dohTemplate matches a path with expressions (RFC 6570 §2). dohVariable matches the
// variable that a DNS over HTTPS template must contain (RFC 8484 §4.1).
var (
	dohTemplate = regexp.MustCompile(`^/([^{}]|\{[+#./;?&]?[^{}]+\})*$`)
	dohVariable = regexp.MustCompile(`\{[+#./;?&]?([a-zA-Z0-9_.:*]+,)*dns(:[0-9]{1,4}|\*)?(,[a-zA-Z0-9_.:*]+)*\}`)
)

func sizeProblem(value []byte, unit int) string {
	if len(value) == 0 || len(value)%unit != 0 {
		return "must have at least one complete value"
	}
	return ""
}

// soundCAA checks that a tag consists of letters and digits (RFC 8659 §4.1).
func soundCAA(data []byte) error {
	tag := data[2 : 2+int(data[1])]
	if len(tag) == 0 || strings.Trim(strings.ToLower(string(tag)), "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return unsound("its tag must be letters and digits, as issue")
	}
	return nil
}

// soundNAPTR checks the substitution expression (RFC 3402 §3.2).
func soundNAPTR(data []byte) error {
	rest := data[4:]
	for range 2 {
		rest = rest[1+int(rest[0]):]
	}
	return soundSubstitution(rest[1 : 1+int(rest[0])])
}

func soundSubstitution(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	delimiter := text[0]
	if delimiter == '\\' || delimiter == 'i' || delimiter >= '0' && delimiter <= '9' {
		return unsound("its expression must begin with a delimiter, as !^.*$!sip:info@example.com!")
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return unsound("its expression has a zero byte")
	}
	parts, part := [][]byte{}, []byte{}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			part = append(part, text[i], text[i+1])
			i++
		case text[i] == delimiter && len(parts) < 2:
			parts, part = append(parts, part), []byte{}
		default:
			part = append(part, text[i])
		}
	}
	if len(parts) != 2 || strings.Trim(string(part), "i") != "" {
		return unsound("its expression must have three delimiters and at most the flag i behind them, as !^.*$!sip:info@example.com!")
	}
	groups, err := groupsOf(parts[0])
	if err != nil {
		return unsound("its expression %w", err)
	}
	for i := 0; i < len(parts[1]); i++ {
		if parts[1][i] != '\\' {
			continue
		}
		if i++; i < len(parts[1]) && isDigit(parts[1][i]) && (parts[1][i] == '0' || int(parts[1][i]-'0') > groups) {
			return unsound("its expression has no group \\%c", parts[1][i])
		}
	}
	return nil
}

// soundLOC checks the limits of RFC 1876 §2 for angles and for sizes, which are a digit
// and a power of ten.
func soundLOC(data []byte) error {
	if data[0] != 0 {
		return nil
	}
	for _, size := range data[1:4] {
		if size>>4 > 9 || size&0xf > 9 || size>>4 == 0 && size != 0 {
			return unsound("its size or precision is not possible")
		}
	}
	const equator, degree = 1 << 31, 3_600_000
	for i, most := range []int64{90, 180} {
		angle := int64(binary.BigEndian.Uint32(data[4+4*i:])) - equator
		if angle < -most*degree || angle > most*degree {
			return unsound("its latitude or longitude is not possible")
		}
	}
	return nil
}

// gatewayEnd returns the offset at which the gateway of an IPSECKEY record ends (RFC
// 4025 §2.5).
func gatewayEnd(kind byte, data []byte) int {
	switch kind {
	case 1:
		return 3 + 4
	case 2:
		return 3 + 16
	case 3:
		if _, end, err := dns.UnpackDomainName(data, 3); err == nil {
			return end
		}
	}
	return 3
}

// soundGateway checks that the type of a gateway exists (RFC 4025 §2.3) and that the key is
// present. RFC 4025 §2.4 allows algorithm 0 without a key, but BIND rejects the transfer of
// a zone with such a record.
func soundGateway(kind byte, keyless bool) error {
	switch {
	case kind > 3:
		return unsound("there is no gateway of kind %d", kind)
	case keyless:
		return unsound("the key is missing")
	}
	return nil
}
