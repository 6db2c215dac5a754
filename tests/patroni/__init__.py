"""Three nodes of Patroni and etcd, by the files of deploy/patroni, and what their failures cost."""
