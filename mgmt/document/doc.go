// Package document reads and writes the configuration as people see it: the
// YAML (or JSON) file of apply and export, and the difference of two of them.
//
//	system:
//	  dns:
//	    primary: 192.0.2.53
//	checks:
//	  - name: alive
//	    command: check_http -I HOST -p PORT -e 200
//	farms:
//	  - name: shop
//	    profile: http
//	    vip: 192.0.2.10
//	    vport: 80
//	    contimeout: 5
//	    addheader:
//	      - "X-Forwarded-Proto: http"
//	    services:
//	      - name: web
//	        vhost: shop\.example
//	        backends:
//	          - ip: 192.0.2.21
//	            port: 8080
//	            weight: 2
//	  - name: dns
//	    profile: l4xnat
//	    vip: 192.0.2.10
//	    vport: 53
//	    protocol: udp
//	    backends:
//	      - ip: 192.0.2.31
//
// Secrets of the settings of the machine are in it sealed: only the appliance that
// wrote it can read them.
//
// A document holds no numbers the appliance gave (IDs, resolved addresses) and
// leaves out what has its default, so the same configuration always has the
// same document, and applying an exported document changes nothing. The field
// names and their rules are those of mgmt/validate. What is one text in a list
// (certificates, headers to add) is written as such, rules with several fields
// as objects.
//
// Decoding is strict: unknown and duplicate keys, anchors, aliases, tags and
// several documents in one file are refused, with line and column. It never
// panics and its work is bounded by the size of the input, which is bounded
// itself. Everything is safe for use by many goroutines at once.
package document
