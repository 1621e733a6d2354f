package certificates

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// OrderedItem describes an ordered certificate and its renewal.
type OrderedItem struct {
	CertificateItem
	Domains     []string    `json:"domains"`
	Wildcard    string      `json:"wildcard" enum:"true,false" doc:"Whether it is for all names of a domain"`
	Challenge   string      `json:"challenge" enum:"http-01,dns-01" doc:"How the authority is shown that the domains are ours"`
	Test        string      `json:"test" enum:"true,false" doc:"Whether it came from the directory for tests, whose certificates no client trusts"`
	Autorenewal Autorenewal `json:"autorenewal"`
	Due         time.Time   `json:"due" doc:"From when on it is renewed"`
	Tried       *time.Time  `json:"tried" doc:"When it was last renewed, or that was tried"`
	Failure     string      `json:"failure" doc:"Why the last renewal failed"`
}

// Autorenewal describes the renewal of a certificate.
type Autorenewal struct {
	Status  string `json:"status" enum:"true,false"`
	Farm    string `json:"farm" doc:"The farm on port 80 that answers the authority"`
	VIP     string `json:"vip" doc:"The address at which the authority is answered on port 80"`
	Force   string `json:"force" enum:"true,false" doc:"Kept for clients; the daily look renews what is due, not more"`
	Restart string `json:"restart" enum:"true,false" doc:"Kept for clients; farms use a renewed certificate at once and are not restarted"`
}

// ACMESettings holds the account and the authority for orders.
type ACMESettings struct {
	Email     string `json:"email" doc:"Contact the authority gets; setting it accepts the authority's terms of service"`
	Directory string `json:"directory" doc:"Where certificates are ordered"`
	Staging   string `json:"staging" doc:"Where test certificates are ordered"`
	CA        string `json:"ca" doc:"The list of authorities that verifies the directories; empty: those of the system"`
	Hook      string `json:"hook" doc:"The program in the folder hooks of the data directory that makes DNS records; empty: dns-01 is not possible"`
	DNSWait   int    `json:"dns_wait" doc:"Seconds such a record may take until every name server of its zone has it"`
	// DNSServers is null if the name servers of the zone are queried.
	DNSServers []string `json:"dns_servers" nullable:"true" doc:"Name servers, as address:port, that are asked for the record instead of those of its zone"`
}

func orderedItem(c *rest.Call, v acme.View) OrderedItem {
	out := OrderedItem{
		CertificateItem: certificateItem(c, v.View), Domains: v.Domains, Test: rest.Truth(v.Test), Challenge: string(v.Challenge),
		Wildcard:    rest.Truth(slices.ContainsFunc(v.Domains, func(d string) bool { return strings.HasPrefix(d, "*") })),
		Autorenewal: Autorenewal{Status: rest.Truth(v.Renewal.Auto), Farm: v.Renewal.Farm, Force: rest.Truth(v.Renewal.Force), Restart: rest.Truth(v.Renewal.Restart)},
		Due:         v.Due.UTC(), Tried: timeOrNull(v.Tried), Failure: c.Discreet(v.Failure),
	}
	if _, err := c.Visible(v.Renewal.Farm); err != nil {
		out.Autorenewal.Farm = "" // of another group, or deleted
	}
	if v.Renewal.VIP.IsValid() {
		out.Autorenewal.VIP = v.Renewal.VIP.String()
	}
	return out
}

// orderFields, renewalFields, renewFields and acmeFields are the bodies of requests about
// ordered certificates.
type (
	orderFields   struct{}
	renewalFields struct{}
	renewFields   struct{}
	acmeFields    struct{}
)

func truthField(name, about string, options ...string) validate.Param {
	return validate.Param{Name: name, PossibleValues: []string{"true", "false"}, Options: append([]string{"non_blank"}, options...), Description: about}
}

func targetFields() []validate.Param {
	return []validate.Param{
		rest.Optional("farmname", "A running http farm on port 80 that the domains lead to."),
		rest.Optional("vip", "Instead of farmname: the address the domains lead to; when no farm listens on its port 80, one does while the order needs it."),
	}
}

// Params lists the fields for OpenAPI.
func (orderFields) Params() []validate.Param {
	return append([]validate.Param{
		{Name: "domains", Format: "domain", Options: []string{"non_blank", "required", "list"}, Description: "Host names; the first names the certificate. Wildcards, as *.example.com, with dns-01."},
		{Name: "challenge", PossibleValues: []string{string(acme.HTTP01), string(acme.DNS01)}, Description: "How the authority is shown that the domains are ours: on port 80, or by TXT records that the hook makes. http-01 when not sent."},
		truthField("test", "Order from the directory for tests."),
	}, targetFields()...)
}

// Params lists the fields for OpenAPI.
func (renewalFields) Params() []validate.Param {
	return append([]validate.Param{
		truthField("autorenewal", "Whether it is renewed by itself.", "required"), truthField("force_renewal", "Kept; see autorenewal.force."),
		truthField("restart", "Kept; nothing has to be restarted."),
	}, targetFields()...)
}

// Params lists the fields for OpenAPI.
func (renewFields) Params() []validate.Param {
	return append([]validate.Param{
		{Name: "action", PossibleValues: []string{"renew"}, Options: []string{"non_blank", "required"}, Description: "What to do."},
		truthField("force_renewal", "Renew it although it is not due."), truthField("restart", "Kept; nothing has to be restarted."),
	}, targetFields()...)
}

// Params lists the fields for OpenAPI.
func (acmeFields) Params() []validate.Param {
	return []validate.Param{
		rest.Optional("email", "Contact for the authority; must be set first. Setting it accepts the authority's terms of service."),
		rest.Optional("directory", "Address of the authority's directory; empty: Let's Encrypt."),
		rest.Optional("staging", "Address of the directory for tests; empty: that of Let's Encrypt."),
		rest.Optional("ca", "List of authorities that verifies the directories; empty: those of the system."),
		rest.Optional("hook", "Program in the folder hooks of the data directory that makes the TXT records of dns-01; empty: none."),
		{Name: "dns_wait", Interval: fmt.Sprintf("1,%d", acme.MaxDNSWait), Options: []string{"null"}, Description: "Seconds such a record may take until it is seen everywhere; 120 when unset."},
		{Name: "dns_servers", Format: "address:port", Options: []string{"null", "list"}, Description: "Name servers that are asked for it instead of those of its zone."},
	}
}
