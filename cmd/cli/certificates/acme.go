package certificates

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func acmeCommand(c *command.Line) *cobra.Command {
	return command.Parent("acme", "Order and renew certificates by ACME, e.g. from Let's Encrypt", `  sluice acme config email=ops@example.com
  sluice acme order www.example.com example.com --farmname web
  sluice acme config hook=dns.sh
  sluice acme order '*.example.com' example.com --dns
  sluice acme list`,
		acmeConfig(c), acmeOrder(c), acmeRenew(c), acmeSet(c), acmeList(c), acmeDelete(c))
}

// orderWait bounds the request of an order. The appliance needs up to three minutes, and for
// DNS records additionally its configured wait.
const orderWait = 20 * time.Minute

var acmeParams = []field.Param{
	{Name: "email", Description: "contact address for the authority; setting it accepts its terms of service"},
	{Name: "directory", Description: "URL of the authority's ACME directory; null: Let's Encrypt"},
	{Name: "staging", Description: "URL of the staging directory; null: that of Let's Encrypt"},
	{Name: "ca", Description: "list of authorities that verifies the directory's certificate; null: the system's"},
	{Name: "hook", Description: "program in the folder hooks of the data directory that creates DNS records"},
	{Name: "dns_wait", Interval: "1,900", Description: "maximum seconds to wait until such a record is visible; null: 120"},
	{Name: "dns_servers", Options: []string{"list"}, Description: "name servers (address:port) queried for it; null: those of its zone"},
}

func acmeConfig(c *command.Line) *cobra.Command {
	return command.SettingsCommand(c, "/certificates/letsencryptz/config", acmeParams, &cobra.Command{
		Use: "config [NAME=VALUE…]", Short: "Show or change the ACME account and directory",
		Example: "  sluice acme config email=ops@example.com\n  sluice acme config directory=https://ca.example.com/acme/directory ca=private",
	})
}

// targetFlags adds the flags for the place where challenges are served.
func targetFlags(cmd *cobra.Command) func(fields map[string]any) {
	farm := cmd.Flags().String("farmname", "", "running http farm on port 80 that receives requests for the domains")
	vip := cmd.Flags().String("vip", "", "address the domains resolve to; no farm is needed there")
	return func(fields map[string]any) {
		for name, value := range map[string]string{"farmname": *farm, "vip": *vip} {
			if value != "" {
				fields[name] = value
			}
		}
	}
}

func acmeOrder(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "order DOMAIN…", Short: "Order a certificate, named after the first domain", Args: command.AtLeast(1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  sluice acme order www.example.com example.com --farmname web\n  sluice acme order www.example.com --vip 192.0.2.10 --test\n  sluice acme order '*.example.com' example.com --dns",
	}
	at := targetFlags(cmd)
	dns := cmd.Flags().Bool("dns", false, "validate by DNS-01, with records that the hook creates; required for wildcards")
	test := cmd.Flags().Bool("test", false, "use the staging directory: clients do not trust the certificate, and rate limits are high")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"domains": args, "test": *test}
		if *dns {
			fields["challenge"] = "dns-01"
		}
		at(fields)
		return sendSlowly(c, cmd, "/certificates/letsencryptz", fields)
	}
	return cmd
}

func acmeRenew(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "renew FILE", Short: "Renew a certificate that is due; with --force any", Args: command.Exactly(1), ValidArgsFunction: completeCertificates(c, 1),
		Example: "  sluice acme renew www.example.com.pem --force",
	}
	at := targetFlags(cmd)
	force := cmd.Flags().Bool("force", false, "renew it before it is due; rate limits of the authority apply")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := certificatePath("letsencryptz", args[0], "actions")
		if err != nil {
			return err
		}
		fields := map[string]any{"action": "renew", "force_renewal": *force}
		at(fields)
		return sendSlowly(c, cmd, path, fields)
	}
	return cmd
}

func acmeSet(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FILE", Short: "Change whether and how a certificate is renewed automatically", Args: command.Exactly(1), ValidArgsFunction: completeCertificates(c, 1),
		Example: "  sluice acme set www.example.com.pem --renew=false\n  sluice acme set www.example.com.pem --farmname web",
	}
	at := targetFlags(cmd)
	renew := cmd.Flags().Bool("renew", true, "renew it automatically")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := certificatePath("letsencryptz", args[0])
		if err != nil {
			return err
		}
		fields := map[string]any{"autorenewal": *renew}
		at(fields)
		a, err := c.Send(cmd.Context(), http.MethodPut, path, fields)
		return c.Finish(cmd, a, err)
	}
	return cmd
}

func acmeDelete(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "delete FILE", Short: "Delete an ordered certificate and stop renewing it", Example: "  sluice acme delete www.example.com.pem",
		Args: command.Exactly(1), ValidArgsFunction: completeCertificates(c, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath("letsencryptz", args[0])
			if err != nil {
				return err
			}
			return c.DeleteAt(cmd, path)
		},
	}
}

// sendSlowly sends a request that takes as long as an order.
func sendSlowly(c *command.Line, cmd *cobra.Command, path string, fields map[string]any) error {
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: path, Body: body, Timeout: orderWait})
	return c.Finish(cmd, a, err)
}

func acmeList(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List ordered certificates and their renewal dates", Example: "  sluice acme list", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Get(cmd.Context(), "/certificates/letsencryptz")
			if err != nil || c.JSON {
				return c.FinishJSON(cmd, a, err)
			}
			var body struct {
				Params []struct {
					certificate
					Domains         []string
					Test, Challenge string
					Due             time.Time
					Failure         string
					Autorenewal     struct{ Status, Farm, VIP string }
				}
			}
			if err := a.Decode(&body); err != nil {
				return err
			}
			s := show.NewSheet("FILE", "DOMAINS", "STATUS", "DAYS", "RENEWED FROM", "CHALLENGE", "AT", "TEST", "FAILURE")
			for _, v := range body.Params {
				from := command.FormatTime(v.Due)
				if v.Autorenewal.Status != "true" {
					from = "never"
				}
				s.Add(v.File, strings.Join(v.Domains, ", "), v.Status, command.Optional(v.DaysLeft), from, v.Challenge, v.Autorenewal.Farm+v.Autorenewal.VIP, v.Test, v.Failure)
			}
			return c.Print(cmd, s)
		},
	}
}
