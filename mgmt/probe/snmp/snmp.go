// Package snmp reads values from agents (SNMP 1 and 2c): check_snmp. Version 3 is left to
// the plugin of that name.
package snmp

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/gosnmp/gosnmp"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	host      probe.Host
	port      probe.Port
	ip        string
	oids      []string
	community probe.Text
	version   gosnmp.SnmpVersion
	ranges    probe.Ranges
	text      probe.Text
	pattern   *regexp.Regexp
}

// maxOIDs is how many values one request may have.
const maxOIDs = 16

// Check is check_snmp.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{port: 161, community: "public", version: gosnmp.Version1}
	f.Host(&c.host, "H hostname")
	f.Port(&c.port, "p port")
	f.Version(&c.ip)
	f.Value("o oid", c.addOIDs)
	f.Secret(&c.community, "C community")
	f.Value("P protocol", c.setVersion)
	c.ranges.Flags(f)
	f.Text(&c.text, "s string")
	f.Pattern(&c.pattern, "", "r ereg regex")
	f.Pattern(&c.pattern, "(?i)", "R eregi")
	var ignored probe.Text
	f.Text(&ignored, "l label")
	f.Text(&ignored, "u units")
	f.Text(&ignored, "e retries")
	f.Limit()
	return func() (probe.Probe, error) {
		if len(c.oids) == 0 {
			return nil, errors.New("what to ask for is missing: -o 1.3.6.1.2.1.1.3.0")
		}
		return c, nil
	}
}

func (c *check) setVersion(v string) error {
	switch v {
	case "1":
		c.version = gosnmp.Version1
	case "2c":
		c.version = gosnmp.Version2c
	case "3":
		return &probe.UnknownFlag{Check: "check_snmp", Flag: "-P 3"}
	default:
		return fmt.Errorf("%q is no version: 1 or 2c, or 3 by the plugin", v)
	}
	return nil
}

func (c *check) addOIDs(v string) error {
	for one := range strings.SplitSeq(v, ",") {
		if !isOID(one) {
			return fmt.Errorf("%q is no number of an object: write it such as 1.3.6.1.2.1.1.3.0", one)
		}
		c.oids = append(c.oids, "."+strings.TrimPrefix(one, "."))
	}
	if len(c.oids) > maxOIDs {
		return fmt.Errorf("%d objects are asked for, %d are possible", len(c.oids), maxOIDs)
	}
	return nil
}

// isOID accepts numbers with dots between them, at most 128 numbers.
func isOID(s string) bool {
	parts := strings.Split(strings.TrimPrefix(s, "."), ".")
	for _, p := range parts {
		if p == "" || len(p) > 9 || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return len(parts) >= 2 && len(parts) <= 128
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	coder := &gosnmp.GoSNMP{Version: c.version, Community: string(c.community), MaxOids: maxOIDs, Transport: "udp"}
	coder.SetRequestID(rand.Uint32() >> 1)
	var asked []gosnmp.SnmpPDU
	for _, o := range c.oids {
		asked = append(asked, gosnmp.SnmpPDU{Name: o, Type: gosnmp.Null})
	}
	question, err := coder.SnmpEncodePacket(gosnmp.GetRequest, asked, 0, 0)
	if err != nil {
		return err
	}
	sent, err := decode(coder, question)
	if err != nil {
		return err
	}
	conn, err := wire.OpenUDP(ctx, n, c.ip, probe.Address(c.host, c.port, to))
	if err != nil {
		return err
	}
	defer conn.Close()
	probe.Step(ctx, "query")
	var answer *gosnmp.SnmpPacket
	if _, err := conn.Ask(ctx, question, func(b []byte) bool {
		p, err := decode(coder, b)
		if err != nil || p.PDUType != gosnmp.GetResponse || p.RequestID != sent.RequestID || p.Version != c.version {
			return false
		}
		answer = p
		return true
	}); err != nil {
		return err
	}
	if answer.Error != gosnmp.NoError {
		return fmt.Errorf("the agent answered %s", answer.Error)
	}
	return c.judge(answer.Variables, say)
}

// decode reads a foreign packet. A packet with which the library panics is an error.
func decode(coder *gosnmp.GoSNMP, b []byte) (p *gosnmp.SnmpPacket, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the packet cannot be read: %v", broken)
		}
	}()
	return coder.SnmpDecodePacket(b)
}

func (c *check) judge(values []gosnmp.SnmpPDU, say probe.Say) error {
	if len(values) != len(c.oids) {
		return fmt.Errorf("the agent answered %d values, wanted %d", len(values), len(c.oids))
	}
	for i, v := range values {
		if v.Name != c.oids[i] {
			return fmt.Errorf("the agent answered %s, which was not asked for", probe.Line(v.Name))
		}
		if v.Value == nil || v.Type == gosnmp.NoSuchObject || v.Type == gosnmp.NoSuchInstance || v.Type == gosnmp.EndOfMibView {
			return fmt.Errorf("the agent has no %s", v.Name)
		}
		if err := c.judgeOne(v, say); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) judgeOne(v gosnmp.SnmpPDU, say probe.Say) error {
	text := fmt.Sprint(v.Value)
	if bytes, is := v.Value.([]byte); is {
		text = string(bytes)
	}
	say("%s is %s", v.Name, text)
	if c.text != "" && text != string(c.text) {
		return fmt.Errorf("%s is %q, wanted %q", v.Name, probe.Line(text), string(c.text))
	}
	if c.pattern != nil && !c.pattern.MatchString(text) {
		return fmt.Errorf("%s is %q, which does not match %q", v.Name, probe.Line(text), c.pattern)
	}
	if len(c.ranges) == 0 {
		return nil
	}
	number, ok := new(big.Float).SetString(strings.TrimSpace(text))
	if !ok {
		return fmt.Errorf("%s is %q, which is no number", v.Name, probe.Line(text))
	}
	x, _ := number.Float64()
	return c.ranges.Judge(v.Name, x)
}
