package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

func (c *client) systemLanguage() *cobra.Command {
	return &cobra.Command{
		Use: "language [LANGUAGE]", Short: "Show or change the language of the web interface", Example: "  sluice system language\n  sluice system language de", Args: atMost(1),
		ValidArgsFunction: cobra.FixedCompletions([]string{"en", "es", "de", "fr"}, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.post(cmd, map[string]any{"language": args[0]}, "system", "language")
			}
			a, err := c.get(cmd.Context(), "/system/language")
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct{ Params struct{ Lang string } }
			if err := a.into(&body); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), show.Clean(body.Params.Lang))
			return err
		},
	}
}

func (c *client) systemLicense() *cobra.Command {
	return &cobra.Command{
		Use: "license", Short: "Print the licences of Sluice and its libraries", Example: "  sluice system license", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.download(cmd, "/system/license/txt", "license.txt")
		},
	}
}

func (c *client) systemPackages() *cobra.Command {
	return &cobra.Command{
		Use: "packages", Short: "List available package updates; nothing is downloaded or installed", Example: "  sluice system packages", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.do(cmd.Context(), request{method: http.MethodGet, path: "/system/packages", wait: orderWait})
			if err != nil || c.json {
				return c.orJSON(cmd, a, err)
			}
			var body struct {
				Params struct {
					Message   string
					LastCheck string `json:"last_check"`
					Packages  []struct{ Name, From, To, Security string }
				}
			}
			if err := a.into(&body); err != nil {
				return err
			}
			if len(body.Params.Packages) > 0 {
				s := show.NewSheet("PACKAGE", "INSTALLED", "AVAILABLE", "SECURITY")
				for _, p := range body.Params.Packages {
					s.Add(p.Name, p.From, p.To, p.Security)
				}
				if err := c.print(cmd, s); err != nil {
					return err
				}
			}
			text := show.Clean(body.Params.Message)
			if body.Params.LastCheck != "" {
				text += "\nThe package lists are dated " + show.Clean(body.Params.LastCheck) + "."
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
			return err
		},
	}
}

func (c *client) activationCommand() *cobra.Command {
	return parentCommand("activation", "Activation certificate of SKUDONET; Sluice does not need one", "  sluice certificate activation upload activation.pem\n  sluice certificate activation show",
		c.activationShow(), c.activationUpload(), c.activationDownload(), c.activationDelete())
}

const activationPath = "/certificates/activation"

func (c *client) activationShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show the holder and validity of the activation certificate", Example: "  sluice certificate activation show", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.get(cmd.Context(), activationPath+"/info")
			return c.orFields(cmd, a, err, "hostname", "type", "status", "days_to_expire", "expiration", "issuer", "notice")
		},
	}
}

func (c *client) activationUpload() *cobra.Command {
	return &cobra.Command{
		Use: "upload FILE", Short: "Upload or replace the activation certificate", Example: "  sluice certificate activation upload activation.pem", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.sendFiles(cmd, request{method: http.MethodPost, path: activationPath}, args, asIs)
		},
	}
}

func (c *client) activationDownload() *cobra.Command {
	return &cobra.Command{
		Use: "download", Short: "Write the activation certificate to standard output", Example: "  sluice certificate activation download > activation.pem", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.download(cmd, activationPath, "activation.pem") },
	}
}

func (c *client) activationDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete", Short: "Delete the activation certificate", Example: "  sluice certificate activation delete", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.deleteAt(cmd, activationPath)
		},
	}
}
