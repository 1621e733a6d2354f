package rdata

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// A layout describes the data of a type that miekg/dns lacks, or supports only in some of the
// forms that BIND reads. It is a list of parts, in the order of the text and of the
// bytes.
type layout []part

// part reads words of master file text and appends their bytes, and does the reverse. It
// returns the remaining words or bytes, and false for invalid ones.
type part interface {
	read(out []byte, words []string, zone string) ([]byte, []string, bool)
	text(out []string, data []byte) ([]string, []byte, bool)
}

var layouts = map[uint16]layout{
	TypeWKS:          {wks{}},
	dns.TypeX25:      {charString{}},
	TypeNSAP:         {nsap{}},
	dns.TypeGPOS:     {charString{}, charString{}, charString{}},
	dns.TypeATMA:     {atma{}},
	TypeA6:           {a6{}},
	TypeSINK:         {number(8), number(8), number(8), base64Rest{}},
	TypeDSYNC:        {typeName{}, scheme{}, number(16), name{}},
	TypeHHIT:         {base64Rest{}},
	TypeBRID:         {base64Rest{}},
	dns.TypeURI:      {number(16), number(16), longText{}},
	TypeDOA:          {number(32), number(32), number(8), charString{}, base64Rest{}},
	dns.TypeAMTRELAY: {number(8), amtRelay{}},
	TypeWALLET:       {charStrings{}},
	TypeCLA:          {charStrings{}},
	TypeIPN:          {number(64)},
}

// read returns the data in a text, and false if the text does not fit.
func (l layout) read(text, zone string) (data []byte, ok bool) {
	list := wordsOfTexts(text)
	for _, p := range l {
		if data, list, ok = p.read(data, list, zone); !ok {
			return nil, false
		}
	}
	return data, len(list) == 0 && len(data) <= 65535
}

// text returns data in master file syntax, and false if they are invalid.
func (l layout) text(data []byte) (text string, ok bool) {
	var list []string
	rest := data
	for _, p := range l {
		if list, rest, ok = p.text(list, rest); !ok {
			return "", false
		}
	}
	text = strings.Join(list, " ")
	again, ok := l.read(text, ".")
	return text, ok && len(rest) == 0 && bytes.Equal(again, data)
}

// number is a number of 8, 16, 32 or 64 bits.
type number int

func (n number) read(out []byte, words []string, _ string) ([]byte, []string, bool) {
	if len(words) == 0 {
		return nil, nil, false
	}
	v, err := strconv.ParseUint(words[0], 10, int(n))
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], v)
	return append(out, bytes[8-int(n)/8:]...), words[1:], err == nil
}

func (n number) text(out []string, data []byte) ([]string, []byte, bool) {
	size := int(n) / 8
	if len(data) < size {
		return nil, nil, false
	}
	var bytes [8]byte
	copy(bytes[8-size:], data)
	return append(out, strconv.FormatUint(binary.BigEndian.Uint64(bytes[:]), 10)), data[size:], true
}

// charString is a text of at most 255 bytes.
type charString struct{}

func (charString) read(out []byte, words []string, _ string) ([]byte, []string, bool) {
	if len(words) == 0 {
		return nil, nil, false
	}
	text := unquoted(words[0])
	return append(append(out, byte(len(text))), text...), words[1:], len(text) <= 255
}

func (charString) text(out []string, data []byte) ([]string, []byte, bool) {
	if len(data) == 0 || len(data) <= int(data[0]) {
		return nil, nil, false
	}
	end := 1 + int(data[0])
	return append(out, escaped(data[1:end])), data[end:], true
}

// charStrings are one or more texts, up to the end.
type charStrings struct{}

func (charStrings) read(out []byte, words []string, zone string) (_ []byte, _ []string, ok bool) {
	for ok = len(words) > 0; ok && len(words) > 0; {
		out, words, ok = charString{}.read(out, words, zone)
	}
	return out, nil, ok
}

func (charStrings) text(out []string, data []byte) (_ []string, _ []byte, ok bool) {
	for ok = len(data) > 0; ok && len(data) > 0; {
		out, data, ok = charString{}.text(out, data)
	}
	return out, data, ok
}

// longText is a text of any length, up to the end.
type longText struct{}

func (longText) read(out []byte, words []string, _ string) ([]byte, []string, bool) {
	if len(words) == 0 {
		return nil, nil, false
	}
	return append(out, unquoted(words[0])...), words[1:], true
}

func (longText) text(out []string, data []byte) ([]string, []byte, bool) {
	return append(out, escaped(data)), nil, true
}

// base64Rest are bytes up to the end, in Base64. "-" are none, as BIND writes it for DOA.
type base64Rest struct{}

func (base64Rest) read(out []byte, words []string, _ string) ([]byte, []string, bool) {
	text := strings.Join(words, "")
	if text == "-" {
		text = ""
	}
	data, err := base64.StdEncoding.DecodeString(text)
	return append(out, data...), nil, err == nil
}

func (base64Rest) text(out []string, data []byte) ([]string, []byte, bool) {
	if len(data) > 0 {
		out = append(out, base64.StdEncoding.EncodeToString(data))
	}
	return out, nil, true
}

// name is a name that is not compressed.
type name struct{}

func (name) read(out []byte, words []string, zone string) ([]byte, []string, bool) {
	if len(words) == 0 {
		return nil, nil, false
	}
	full, err := absolute(words[0], zone)
	if err != nil {
		return nil, nil, false
	}
	var space [MaxName]byte
	n, err := dns.PackDomainName(full, space[:], 0, nil, false)
	return append(out, space[:n]...), words[1:], err == nil
}

func (name) text(out []string, data []byte) ([]string, []byte, bool) {
	text, end, err := dns.UnpackDomainName(data, 0)
	if err != nil {
		return nil, nil, false
	}
	return append(out, text), data[end:], true
}

// typeName is the name of a record type.
type typeName struct{}

func (typeName) read(out []byte, words []string, _ string) ([]byte, []string, bool) {
	if len(words) == 0 {
		return nil, nil, false
	}
	code := TypeNamed(words[0])
	return binary.BigEndian.AppendUint16(out, code), words[1:], code != 0
}

func (typeName) text(out []string, data []byte) ([]string, []byte, bool) {
	if len(data) < 2 {
		return nil, nil, false
	}
	return append(out, TypeText(binary.BigEndian.Uint16(data))), data[2:], true
}

// scheme is the scheme of a DSYNC record (RFC 9859 §2.1): NOTIFY, or a number.
type scheme struct{}

func (scheme) read(out []byte, words []string, zone string) ([]byte, []string, bool) {
	if len(words) > 0 && strings.EqualFold(words[0], "NOTIFY") {
		return append(out, 1), words[1:], true
	}
	return number(8).read(out, words, zone)
}

func (scheme) text(out []string, data []byte) ([]string, []byte, bool) {
	if len(data) > 0 && data[0] == 1 {
		return append(out, "NOTIFY"), data[1:], true
	}
	return number(8).text(out, data)
}
