package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func (c *client) acmeCommand() *cobra.Command {
	return parentCommand("acme", "Order certificates from Let's Encrypt or another authority, and renew them", `  sluice acme config email=ops@example.com
  sluice acme order www.example.com example.com --farmname web
  sluice acme config hook=dns.sh
  sluice acme order '*.example.com' example.com --dns
  sluice acme list`,
		c.acmeConfig(), c.acmeOrder(), c.acmeRenew(), c.acmeSet(), c.acmeList(), c.acmeDelete())
}

// orderWait bounds the request of an order. The appliance needs up to three minutes, and for
// DNS records additionally its configured wait.
const orderWait = 20 * time.Minute

var acmeParams = []validate.Param{
	{Name: "email", Description: "contact for the authority; setting it accepts its terms of service"},
	{Name: "directory", Description: "address of the authority's directory; null: Let's Encrypt"},
	{Name: "staging", Description: "address of the directory for tests; null: that of Let's Encrypt"},
	{Name: "ca", Description: "list of authorities that verifies the directories; null: the system's"},
	{Name: "hook", Description: "program in the folder hooks of the data directory that makes DNS records"},
	{Name: "dns_wait", Interval: "1,900", Description: "seconds such a record may take until it is seen; null: 120"},
	{Name: "dns_servers", Options: []string{"list"}, Description: "address:port of name servers to ask for it; null: those of its zone"},
}

func (c *client) acmeConfig() *cobra.Command {
	return c.settingsOf("/certificates/letsencryptz/config", acmeParams, &cobra.Command{
		Use: "config [NAME=VALUE…]", Short: "Show or change the account and the authority for orders",
		Example: "  sluice acme config email=ops@example.com\n  sluice acme config directory=https://ca.example.com/acme/directory ca=private",
	})
}

// targetFlags adds the flags for the place where challenges are served.
func targetFlags(cmd *cobra.Command) func(fields map[string]any) {
	farm := cmd.Flags().String("farmname", "", "running http farm on port 80 that the domains lead to")
	vip := cmd.Flags().String("vip", "", "address the domains lead to; needs no farm there")
	return func(fields map[string]any) {
		for name, value := range map[string]string{"farmname": *farm, "vip": *vip} {
			if value != "" {
				fields[name] = value
			}
		}
	}
}

func (c *client) acmeOrder() *cobra.Command {
	cmd := &cobra.Command{
		Use: "order DOMAIN…", Short: "Order a certificate; the first domain names it", Args: atLeast(1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: "  sluice acme order www.example.com example.com --farmname web\n  sluice acme order www.example.com --vip 192.0.2.10 --test\n  sluice acme order '*.example.com' example.com --dns",
	}
	at := targetFlags(cmd)
	dns := cmd.Flags().Bool("dns", false, "show by DNS records, which the hook makes, that the domains are ours; for wildcards")
	test := cmd.Flags().Bool("test", false, "from the directory for tests: no client trusts it, and limits are high")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields := map[string]any{"domains": args, "test": *test}
		if *dns {
			fields["challenge"] = "dns-01"
		}
		at(fields)
		return c.slowly(cmd, "/certificates/letsencryptz", fields)
	}
	return cmd
}

func (c *client) acmeRenew() *cobra.Command {
	cmd := &cobra.Command{
		Use: "renew FILE", Short: "Renew a certificate that is due, or any with --force", Args: exactly(1), ValidArgsFunction: c.completeCertificates(1),
		Example: "  sluice acme renew www.example.com.pem --force",
	}
	at := targetFlags(cmd)
	force := cmd.Flags().Bool("force", false, "renew it although it is not due; authorities count")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := certificatePath("letsencryptz", args[0], "actions")
		if err != nil {
			return err
		}
		fields := map[string]any{"action": "renew", "force_renewal": *force}
		at(fields)
		return c.slowly(cmd, path, fields)
	}
	return cmd
}

func (c *client) acmeSet() *cobra.Command {
	cmd := &cobra.Command{
		Use: "set FILE", Short: "Change whether and where a certificate is renewed by itself", Args: exactly(1), ValidArgsFunction: c.completeCertificates(1),
		Example: "  sluice acme set www.example.com.pem --renew=false\n  sluice acme set www.example.com.pem --farmname web",
	}
	at := targetFlags(cmd)
	renew := cmd.Flags().Bool("renew", true, "renew it by itself")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := certificatePath("letsencryptz", args[0])
		if err != nil {
			return err
		}
		fields := map[string]any{"autorenewal": *renew}
		at(fields)
		a, err := c.send(cmd.Context(), http.MethodPut, path, fields)
		return c.orSay(cmd, a, err)
	}
	return cmd
}

func (c *client) acmeDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete FILE", Short: "Delete a certificate that was ordered, and renew it no more", Example: "  sluice acme delete www.example.com.pem",
		Args: exactly(1), ValidArgsFunction: c.completeCertificates(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := certificatePath("letsencryptz", args[0])
			if err != nil {
				return err
			}
			return c.deleteAt(cmd, path)
		},
	}
}

// slowly sends a request that takes as long as an order.
func (c *client) slowly(cmd *cobra.Command, path string, fields map[string]any) error {
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	a, err := c.do(cmd.Context(), request{method: http.MethodPost, path: path, body: body, wait: orderWait})
	return c.orSay(cmd, a, err)
}

func (c *client) acmeList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List ordered certificates and when they are renewed", Example: "  sluice acme list", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), "/certificates/letsencryptz")
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
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
			if err := a.into(&body); err != nil {
				return err
			}
			s := show.NewSheet("FILE", "DOMAINS", "STATUS", "DAYS", "RENEWED FROM", "CHALLENGE", "AT", "TEST", "FAILURE")
			for _, v := range body.Params {
				from := when(v.Due)
				if v.Autorenewal.Status != "true" {
					from = "never"
				}
				s.Add(v.File, strings.Join(v.Domains, ", "), v.Status, orDash(v.DaysLeft), from, v.Challenge, v.Autorenewal.Farm+v.Autorenewal.VIP, v.Test, v.Failure)
			}
			return c.print(cmd, s)
		},
	}
}
