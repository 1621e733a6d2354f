// Package document reads and writes the YAML or JSON documents of a configuration and compares
// them. Documents are the format of apply, export and diff.
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
// Secrets in the settings of the machine are sealed: only the appliance that wrote a document
// can read them.
//
// A document contains no numbers given by the appliance (IDs, resolved addresses) and omits
// defaults. So equal configurations have equal documents, and applying an exported document
// changes nothing. mgmt/validate defines the field names and rules. A list whose items are one
// text each (certificates, headers to add) is written as texts, rules with several fields as
// objects.
//
// Decoding is strict. Unknown and duplicate keys, anchors, aliases and tags are refused, with
// line and column. The documents of a stream (separated by ---) are read as one, with joined
// lists. It never panics, and its work is bounded by the size of the input, which is limited.
// The package is safe for concurrent use.
package document
