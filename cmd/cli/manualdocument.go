package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/mgmt/validate"
)

// documentExample is in that page.
const documentExample = `farms:
  - name: shop
    profile: http
    vip: 192.0.2.10
    vport: 80
    services:
      - name: web
        vhost: www\.example\.com
        urlp: ^/
        retry_on: [503, reset]
        rewriteurl:
          - {pattern: ^/old/(.*), replace: /new/$1}
        backends:
          - {ip: 10.0.0.11, port: 8080, weight: 2}
          - {ip: 10.0.0.12, port: 8080}
  - name: dns
    profile: l4xnat
    vip: 192.0.2.10
    vport: 53
    protocol: tcp_udp
    backends:
      - {ip: 10.0.0.21, port: 53}
      - {ip: 10.0.0.22, port: 53}
`

// documentSections are the objects of a document with their fields.
func documentSections() []struct {
	title, about string
	params       []validate.Param
} {
	request, response, rewrites := validate.ReplaceRequest, validate.ReplaceResponse, validate.Rewrites
	return []struct {
		title, about string
		params       []validate.Param
	}{
		{"Farms of profile http", "Beside these fields a farm has the lists **services**, **" + request.Farm + "** and **" + response.Farm + "**.", validate.FarmDocument.Params()},
		{"Services", "The list **services** of a farm of profile http; the first that matches a request takes it. Beside these fields a service has the lists **backends**, **" + request.Service + "**, **" + response.Service + "** and **" + rewrites.Service + "**.", validate.ServiceDocument.Params()},
		{"Backends of services", "The list **backends** of a service.", validate.BackendDocument.Params()},
		{"Header rules", "Items of **" + request.Farm + "** and **" + response.Farm + "**, in a farm and in a service.", request.Rule.Params()},
		{"Rewrite rules", "Items of **" + rewrites.Service + "** of a service.", rewrites.Rule.Params()},
		{"Farms of profile l4xnat", "Beside these fields a farm has the list **backends**.", validate.L4FarmDocument.Params()},
		{"Backends of l4xnat farms", "The list **backends** of such a farm.", validate.L4BackendDocument.Params()},
	}
}

// DocumentPage is the manual page about documents, from the rules they are read by,
// in the shape of a command.
func DocumentPage() *cobra.Command {
	var text strings.Builder
	text.WriteString("A document holds the whole configuration, in YAML or JSON. **sluice apply** makes it the configuration, **sluice check** says what is " +
		"wrong with it, **sluice export** prints the one in force, and **sluice run --config** reads one at the start. What is left out has its " +
		"default. Unknown fields, fields given twice, anchors, aliases and tags are refused. Its only field is **farms**, a list. " +
		"Lists of single values may be written with commas between items that hold none.\n\n# EXAMPLE\n```\n" + documentExample + "```\n")
	for _, s := range documentSections() {
		fmt.Fprintf(&text, "# %s\n%s\n\n%s", strings.ToUpper(s.title), s.about, definitions(s.params, inDocument))
	}
	text.WriteString("# SEE ALSO\n**sluice(8)**, **sluice-check(8)**, **sluice-apply(8)**, **sluice-export(8)**, **sluice-run(8)**, **sluice-guide(7)**\n")
	page := &cobra.Command{Use: "sluice.yaml", Short: "The configuration of Sluice as a document", Long: text.String(), DisableAutoGenTag: true, DisableFlagsInUseLine: true}
	page.Flags().Bool("help", false, "") // or a flag of that name would be documented
	page.Flags().Lookup("help").Hidden = true
	return page
}

// inDocument says of a field of a document what about says of a setting, and
// what only matters there.
func inDocument(p validate.Param) string {
	out := about(p) + "."
	if isList(p) {
		out += " A list."
	}
	if slices.Contains(p.Options, "required") {
		out += " Required."
	}
	return out
}
