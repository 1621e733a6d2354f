$TTL 60
@ NS ns1
ns1 A 192.0.2.53
www A 192.0.2.1
