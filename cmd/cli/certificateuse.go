package cli

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func (c *client) certificateAdd() *cobra.Command {
	return &cobra.Command{
		Use: "add FARM FILE", Short: "Add a certificate to the end of an https farm's list", Example: "  sluice certificate add shop shop.pem",
		Args: exactly(2), ValidArgsFunction: c.farmThenCertificate(),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := pathOf("farms", args[0], "certificates")
			if err != nil {
				return err
			}
			a, err := c.send(cmd.Context(), http.MethodPost, path, map[string]any{"file": args[1]})
			return c.orSay(cmd, a, err)
		},
	}
}

func (c *client) certificateRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove FARM FILE", Short: "Remove a certificate from a farm without deleting it", Example: "  sluice certificate remove shop old.pem",
		Args: exactly(2), ValidArgsFunction: c.farmThenOwn(),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := farmPath(args[0], args[1])
			if err != nil {
				return err
			}
			return c.deleteAt(cmd, path)
		},
	}
}

func (c *client) certificateMove() *cobra.Command {
	return &cobra.Command{
		Use: "move FARM FILE POSITION", Short: "Move a certificate in a farm's list; position 0 is the default certificate", Example: "  sluice certificate move shop shop.pem 0",
		Args: exactly(3), ValidArgsFunction: c.farmThenOwn(),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := farmPath(args[0], args[1], "actions")
			if err != nil {
				return err
			}
			a, err := c.send(cmd.Context(), http.MethodPost, path, map[string]any{"position": args[2]})
			return c.orSay(cmd, a, err)
		},
	}
}

// farmThenOwn completes a farm, then one of its certificates.
func (c *client) farmThenOwn() cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return c.completer(oneFarm, nil)(cmd, args, toComplete)
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		return slices.Sorted(maps.Keys(c.ids(ctx).Farms[args[0]].Certificates)), cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *client) farmThenCertificate() cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return c.completeCertificates(2)(cmd, args, toComplete)
		}
		return c.completer(oneFarm, nil)(cmd, args, toComplete)
	}
}

var ocspParams = []field.Param{
	{Name: "enabled", PossibleValues: []string{"true", "false"}, Description: "Whether OCSP responses are fetched and stapled"},
	{Name: "private_responders", PossibleValues: []string{"true", "false"}, Description: "Whether OCSP responders may have private addresses"},
}

func (c *client) ocspCommand() *cobra.Command {
	return c.settingsOf("/certificates/ocsp", ocspParams, &cobra.Command{
		Use: "ocsp [NAME=VALUE…]", Short: "Show or change how OCSP responses are fetched",
		Example: "  sluice certificate ocsp\n  sluice certificate ocsp private_responders=true",
	})
}

type authorityList struct {
	Name, Status, Problem string
	Certificates          []struct{ CN string }
	CRLs                  []struct{ Issuer string }
	UsedBy                []string `json:"used_by"`
}

func (c *client) authorityCommand() *cobra.Command {
	return parentCommand("ca", "Manage lists of authorities that verify clients and backends", `  sluice certificate ca upload clients ca.pem
  sluice farm set shop client_auth=required client_ca=clients
  sluice certificate ca crl clients revoked.crl`,
		c.authorityAll(), c.authorityShow(),
		c.authorityUpload("upload NAME FILE…", "Upload a list of authorities under a new name", "  sluice certificate ca upload clients ca.pem", http.MethodPost, cobra.NoFileCompletions),
		c.authorityUpload("replace NAME FILE…", "Replace a list of authorities", "  sluice certificate ca replace clients ca.pem", http.MethodPut, c.completeAuthorities()),
		c.authorityCRL(), c.authorityDownload(), c.authorityDelete())
}

// authorityPath is certificatePath for CA lists.
func authorityPath(name string, rest ...string) (string, error) {
	return certificatePath(append([]string{"ca", name}, rest...)...)
}

func (c *client) authorityAll() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the lists of authorities", Example: "  sluice certificate ca list", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), "/certificates/ca")
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params []authorityList }
			if err := a.into(&body); err != nil {
				return err
			}
			s := show.NewSheet("NAME", "CERTIFICATES", "CRLS", "STATUS", "PROBLEM", "USED BY")
			for _, v := range body.Params {
				s.Add(v.Name, len(v.Certificates), len(v.CRLs), v.Status, v.Problem, strings.Join(v.UsedBy, ", "))
			}
			return c.print(cmd, s)
		},
	}
}

func (c *client) authorityShow() *cobra.Command {
	return c.onAuthority("show NAME", "Show the certificates and CRLs of a list", "  sluice certificate ca show clients", func(cmd *cobra.Command, name string) error {
		if c.json {
			path, err := authorityPath(name, "status")
			if err != nil {
				return err
			}
			a, err := c.get(cmd.Context(), path)
			return c.orJSON(cmd, a, err)
		}
		path, err := authorityPath(name, "info")
		if err != nil {
			return err
		}
		return c.download(cmd, path, name)
	})
}

func (c *client) authorityDownload() *cobra.Command {
	return c.onAuthority("download NAME", "Write a list of authorities to standard output", "  sluice certificate ca download clients > ca.pem", func(cmd *cobra.Command, name string) error {
		path, err := authorityPath(name)
		if err != nil {
			return err
		}
		return c.download(cmd, path, name+".pem")
	})
}

func (c *client) authorityDelete() *cobra.Command {
	return c.onAuthority("delete NAME", "Delete a list of authorities", "  sluice certificate ca delete clients", func(cmd *cobra.Command, name string) error {
		path, err := authorityPath(name)
		if err != nil {
			return err
		}
		return c.deleteAt(cmd, path)
	})
}

// onAuthority returns a command about one CA list.
func (c *client) onAuthority(use, short, example string, run func(*cobra.Command, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: exactly(1), ValidArgsFunction: c.completeAuthorities(),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd, args[0]) },
	}
}

func (c *client) authorityUpload(use, short, example, method string, names cobra.CompletionFunc) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: atLeast(2), ValidArgsFunction: thenFiles(names),
		Long: short + ".\n\nFILEs are PEM or DER and contain certificates and optionally CRLs; - reads\nstandard input.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := authorityPath(args[0])
			if err != nil {
				return err
			}
			return c.sendFiles(cmd, request{method: method, path: path}, args[1:], unpacker(cmd, ""))
		},
	}
}

func (c *client) authorityCRL() *cobra.Command {
	cmd := &cobra.Command{
		Use: "crl NAME [FILE…]", Short: "Replace the CRLs of a list of authorities, or delete them with --none",
		Example: "  sluice certificate ca crl clients revoked.crl\n  sluice certificate ca crl clients --none", Args: atLeast(1), ValidArgsFunction: thenFiles(c.completeAuthorities()),
	}
	none := cmd.Flags().Bool("none", false, "delete all CRLs: no certificate counts as revoked")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *none == (len(args) > 1) {
			return usagef("give the FILEs with the CRLs, or --none")
		}
		path, err := authorityPath(args[0], "crl")
		if err != nil {
			return err
		}
		if *none {
			return c.deleteAt(cmd, path)
		}
		return c.sendFiles(cmd, request{method: http.MethodPut, path: path}, args[1:], asIs)
	}
	return cmd
}

func (c *client) completeAuthorities() cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var body struct{ Params []authorityList }
		if len(args) > 0 || !c.completing(cmd, "/certificates/ca", &body) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, v := range body.Params {
			out = append(out, v.Name)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
