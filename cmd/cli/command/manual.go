package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// documentExample is the example in the page about documents.
const documentExample = `checks:
  - name: alive
    command: check_http -H HOST -p PORT -u /health
    interval: 5
    timeout: 2
farms:
  - name: shop
    profile: http
    vip: 192.0.2.10
    vport: 80
    services:
      - name: web
        vhost: www\.example\.com
        urlp: ^/
        retry_on: [503, reset]
        farmguardian: alive
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
system:
  ntp:
    server: ntp.example.org
`

type documentSection struct {
	title, about string
	params       []field.Param
}

// documentSections returns the objects of a document with their fields.
func documentSections() []documentSection {
	request, response, rewrites := httpfarm.ReplaceRequest, httpfarm.ReplaceResponse, httpfarm.Rewrites
	out := []documentSection{
		{"Farms of profile http", "A farm also has the lists **services**, **" + request.Farm + "** and **" + response.Farm + "**.", httpfarm.Document.Params()},
		{"Services", "The list **services** of a farm of profile http, in the order they are tried: the first match serves the request. A service also has the lists **backends**, **" + request.Service + "**, **" + response.Service + "** and **" + rewrites.Service + "**.", httpfarm.ServiceDocument.Params()},
		{"Backends of services", "The list **backends** of a service.", httpfarm.BackendDocument.Params()},
		{"Header rules", "Items of **" + request.Farm + "** and **" + response.Farm + "**, in a farm and in a service.", request.Rule.Params()},
		{"Rewrite rules", "Items of **" + rewrites.Service + "** of a service.", rewrites.Rule.Params()},
	}
	for _, p := range profile.All()[1:] { // the first is above
		if p.Name().HasServices() {
			out = append(out, namesSections(p)...)
			continue
		}
		out = append(out, documentSection{"Farms of profile " + string(p.Name()), "A farm also has the list **backends**.", p.Farm().Document.Params()},
			documentSection{"Backends of " + string(p.Name()) + " farms", "The list **backends** of such a farm.", p.Backend().Document.Params()})
	}
	out = append(out, documentSection{"Health checks", "The list **checks** of the document. Services, and farms with backends of their own, name one by **farmguardian**; templates (**sluice check templates**) need not be listed.", check.Document.Params()})
	for i := range system.Sections {
		s := &system.Sections[i]
		out = append(out, documentSection{"System: " + s.Name, s.Title + ": the object **" + s.Name + "** of **system**.", s.Table.Params()})
	}
	return out
}

// namesSections returns the objects of farms with zones.
func namesSections(p profile.Profile) []documentSection {
	farms := string(p.Name()) + " farms"
	return []documentSection{
		{"Farms of profile " + string(p.Name()), "A farm also has the lists **services** and **zones**.", p.Farm().Document.Params()},
		{"Services of " + farms, "The list **services** of such a farm. A service also has the list **backends**.", gslbfarm.ServiceDocument.Params()},
		{"Backends of services of " + farms, "The list **backends** of such a service.", p.Backend().Document.Params()},
		{"Zones", "The list **zones** of such a farm. A zone also has the list **resources**.", gslbfarm.ZoneDocument.Params()},
		{"Records", "The list **resources** of a zone.", gslbfarm.RecordDocument.Params()},
	}
}

// DocumentPage returns the manual page about documents, generated from the validation rules,
// in the form of a command.
func DocumentPage() *cobra.Command {
	var text strings.Builder
	text.WriteString("A document holds the whole configuration, in YAML or JSON. **sluice apply** makes it the running configuration, **sluice check** reports its " +
		"errors, **sluice export** prints the running configuration, and **sluice run --config** reads a document at start-up. Omitted fields have their " +
		"defaults. Unknown fields, duplicate fields, anchors, aliases and tags are refused. The top-level fields are the lists **farms** and **checks**, and **system**, the " +
		"settings of the machine. A document without **checks** or without **system** leaves these unchanged; farms that it does not name are deleted, " +
		"unless it is applied with **--merge**. Lines of three dashes separate several documents, which are joined. Times may have a unit, e.g. 5s or 2m. " +
		"Lists of scalar values may be written with commas if no item contains one.\n\n# EXAMPLE\n```\n" + documentExample + "```\n")
	for _, s := range documentSections() {
		fmt.Fprintf(&text, "# %s\n%s\n\n%s", strings.ToUpper(s.title), s.about, definitions(s.params, inDocument))
	}
	text.WriteString("# SEE ALSO\n**sluice(8)**, **sluice-check(8)**, **sluice-apply(8)**, **sluice-export(8)**, **sluice-run(8)**, **sluice-guide(7)**\n")
	page := &cobra.Command{Use: "sluice.yaml", Short: "The configuration of Sluice as a document", Long: text.String(), DisableAutoGenTag: true, DisableFlagsInUseLine: true}
	page.Flags().Bool("help", false, "") // prevents a documented --help
	page.Flags().Lookup("help").Hidden = true
	return page
}

// inDocument is about for a field of a document, with details that matter only there.
func inDocument(p field.Param) string {
	out := about(p) + "."
	if isList(p) {
		out += " A list."
	}
	if slices.Contains(p.Options, "required") {
		out += " Required."
	}
	return out
}

// ForManual adapts the commands for manual pages: settings listed once, and the data
// directory of an appliance. The pages are generated at build time, see cmd/manual.
func ForManual(root *cobra.Command) {
	forManual(root)
	EachCommand(root, forManual)
	root.PersistentFlags().Lookup("data").DefValue = "/var/lib/sluice" // independent of the building user
}

// forManual adapts a command for its manual page: settings listed once, and markdown
// characters escaped.
func forManual(cmd *cobra.Command) {
	if SettingsOf(cmd) == nil {
		cmd.Long = asMarkdown(cmd.Long)
	} else {
		cmd.Long = LongHelp(cmd, inManual)
	}
	cmd.Short = markdown.Replace(cmd.Short)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		f.Usage = markdown.Replace(f.Usage)
		if IsSetting(f) {
			f.Hidden = true
		}
	})
}

// asMarkdown converts help text to markdown. Indented text stays unchanged.
func asMarkdown(text string) string {
	var out []string
	inCode := false
	for _, line := range strings.Split(text, "\n") {
		indented := strings.HasPrefix(line, "  ")
		if indented != inCode && (line != "" || !inCode) {
			out = append(out, "```")
			inCode = indented
		}
		if !inCode {
			line = markdown.Replace(line)
		}
		out = append(out, line)
	}
	if inCode {
		out = append(out, "```")
	}
	return strings.Join(out, "\n")
}

// definitions returns a markdown list of fields with their descriptions.
func definitions(params []field.Param, said func(field.Param) string) string {
	var out strings.Builder
	for _, p := range params {
		fmt.Fprintf(&out, "**%s**\n: %s\n\n", p.Name, markdown.Replace(said(p)))
	}
	return out.String()
}

// markdown escapes markdown characters.
var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`)
