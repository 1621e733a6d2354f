package farms

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/certificates"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func (s *Resource) farmCertificateOperations() []*rest.Operation {
	const all = "/farms/{farm}/certificates"
	return []*rest.Operation{
		rest.Op(rest.Post, all, rbac.FarmModify, "Add a certificate to a farm", s.addFarmCertificate).Body(fileFields{}).Refers().Created().Edits(),
		rest.Op(rest.Delete, all+"/{certificate}", rbac.FarmModify, "Remove a certificate from a farm", s.removeFarmCertificate).Edits(),
		rest.Op(rest.Post, all+"/{certificate}/actions", rbac.FarmModify, "Move a certificate of a farm", s.moveFarmCertificate).Body(positionFields{}).Edits(),
		rest.Op(rest.Get, "/ciphers", rbac.Open, "List cipher presets", s.listCiphers),
	}
}

// fileFields and positionFields are the bodies of requests about a farm's certificates.
type (
	fileFields     struct{}
	positionFields struct{}
)

// Params lists the fields for OpenAPI.
func (fileFields) Params() []field.Param {
	return []field.Param{rest.Needed("file", "Name of the certificate, as X.pem.")}
}

// Params lists the fields for OpenAPI.
func (positionFields) Params() []field.Param {
	return []field.Param{{Name: "position", Format: "integer", Interval: "0,", Options: []string{"non_blank", "required"}, Description: "New position, from 0."}}
}

// ListedCertificate is one certificate of a farm with its position.
type ListedCertificate struct {
	File string `json:"file"`
	ID   int    `json:"id"`
}

// listedCertificates returns the certificates of a farm as Zevenet lists them.
func listedCertificates(f *farm.Farm) []ListedCertificate {
	out := []ListedCertificate{}
	if f.ListenerTLS() != nil {
		for i, name := range f.ListenerTLS().Certificates {
			out = append(out, ListedCertificate{File: name, ID: i})
		}
	}
	return out
}

// FarmCertificates is the response to a change of a farm's certificates.
type FarmCertificates struct {
	File         string              `json:"file"`
	Certificates []ListedCertificate `json:"certlist" doc:"Certificates in order after the change"`
}

// changeFarmCertificates edits the certificate list of the farm in the path.
func (s *Resource) changeFarmCertificates(c *rest.Call, comment, message, name string, edit func(f *farm.Farm, at int) error) (rest.Object[FarmCertificates], error) {
	before, err := c.Farm()
	if err != nil {
		return rest.Object[FarmCertificates]{}, err
	}
	farmName := before.Name
	_, err = c.Change(fmt.Sprintf(comment, name, farmName), func(cfg *farm.Config) error {
		f, err := rest.FindFarm(cfg, farmName)
		if err != nil {
			return err
		}
		if err := ProfileOf(f).mayHaveCertificates(f); err != nil {
			return err
		}
		return edit(f, slices.Index(f.ListenerTLS().Certificates, name))
	})
	if err != nil {
		return rest.Object[FarmCertificates]{}, err
	}
	f, err := rest.FindFarm(c.Config, farmName)
	if err != nil {
		return rest.Object[FarmCertificates]{}, err
	}
	return rest.Object[FarmCertificates]{
		Description: c.Summary(), Params: FarmCertificates{File: name, Certificates: listedCertificates(f)},
		Message: fmt.Sprintf(message, name, farmName), Status: s.deps.State.Status(f),
	}, nil
}

func (s *Resource) addFarmCertificate(c *rest.Call) (rest.Object[FarmCertificates], error) {
	if _, err := c.Farm(); err != nil {
		return rest.Object[FarmCertificates]{}, err
	}
	body, err := c.Texts(fileFields{})
	if err != nil {
		return rest.Object[FarmCertificates]{}, err
	}
	name := body["file"]
	if !strings.HasSuffix(name, ".csr") { // a CSR has a rejection of its own
		if name, err = certs.CertificateName(name); err != nil {
			return rest.Object[FarmCertificates]{}, certificates.Rejection(err)
		}
	}
	if err := c.UseCertificate(name); err != nil {
		return rest.Object[FarmCertificates]{}, err
	}
	if _, err := s.deps.Certificates.Get(name); err != nil {
		return rest.Object[FarmCertificates]{}, certificates.Rejection(err)
	}
	return s.changeFarmCertificates(c, "add certificate %s to farm %s", "The certificate %s has been added to farm %s.", name, func(f *farm.Farm, at int) error {
		if at >= 0 {
			return rest.BadRequest("file: the farm %s has the certificate %s already", f.Name, name)
		}
		t := f.ListenerTLS()
		t.Certificates = append(t.Certificates, name)
		return nil
	})
}

// inList returns an error if the certificate is not in the list.
func inList(f *farm.Farm, name string, at int) error {
	if at < 0 {
		return rest.NotFound("the farm %s does not have the certificate %s", f.Name, rest.Quote(name))
	}
	return nil
}

func (s *Resource) removeFarmCertificate(c *rest.Call) (rest.Object[FarmCertificates], error) {
	name := c.Param("certificate")
	return s.changeFarmCertificates(c, "take certificate %s from farm %s", "The certificate %s has been taken from farm %s.", name, func(f *farm.Farm, at int) error {
		if err := inList(f, name, at); err != nil {
			return err
		}
		t := f.ListenerTLS()
		if len(t.Certificates) == 1 {
			return rest.BadRequest("the certificate %s is the last one of the farm %s, which needs one: add another one first", name, f.Name)
		}
		t.Certificates = slices.Delete(t.Certificates, at, at+1)
		return nil
	})
}

func (s *Resource) moveFarmCertificate(c *rest.Call) (rest.Object[FarmCertificates], error) {
	if _, err := c.Farm(); err != nil {
		return rest.Object[FarmCertificates]{}, err
	}
	body, err := c.Object(positionFields{})
	if err != nil {
		return rest.Object[FarmCertificates]{}, err
	}
	to, ok := field.ParseNumber(body["position"])
	if !ok || to < 0 {
		return rest.Object[FarmCertificates]{}, rest.BadRequest("position must be a number from 0 on")
	}
	name := c.Param("certificate")
	return s.changeFarmCertificates(c, "move certificate %s of farm %s", "The certificate %s has been moved in farm %s.", name, func(f *farm.Farm, at int) error {
		if err := inList(f, name, at); err != nil {
			return err
		}
		t := f.ListenerTLS()
		if to >= int64(len(t.Certificates)) {
			return rest.BadRequest("position: %d is not allowed, allowed are 0 to %d", to, len(t.Certificates)-1)
		}
		t.Certificates = slices.Insert(slices.Delete(t.Certificates, at, at+1), int(to), name)
		return nil
	})
}

// CipherPreset is one value of the farm field ciphers.
type CipherPreset struct {
	Ciphers     farm.CipherPreset `json:"ciphers"`
	Description string            `json:"description"`
}

var presetTexts = map[farm.CipherPreset]string{
	farm.CiphersAll:     "All suites that are considered safe; CBC only where versions below TLS 1.2 are enabled",
	farm.CiphersHigh:    "Forward secrecy and authenticated encryption only",
	farm.CiphersCustom:  "An OpenSSL cipher string, in the field cipherc",
	farm.CiphersOffload: "AES, which the processor has instructions for",
}

// listCiphers omits the preset for processors with AES if this one has none, like Zevenet.
func (s *Resource) listCiphers(c *rest.Call) (rest.List[CipherPreset], error) {
	var out []CipherPreset
	for _, p := range farm.CipherPresets() {
		if p != farm.CiphersOffload || hasAES() {
			out = append(out, CipherPreset{Ciphers: p, Description: presetTexts[p]})
		}
	}
	return rest.NewList(c.Summary(), out), nil
}

// hasAES reads the processor flags once, as they never change.
var hasAES = sync.OnceValue(func() bool {
	b, _ := os.ReadFile("/proc/cpuinfo") // an unreadable file counts as no AES
	for line := range strings.Lines(string(b)) {
		name, flags, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); name == "flags" || name == "Features" { // x86 and ARM
			return slices.Contains(strings.Fields(flags), "aes")
		}
	}
	return false
})
