/// Keys in rare forms, and in forms that are refused.
enum OddKeys {
    /// The same as `TestKeys.rsa`, in PKCS #1.
    static let rsaPKCS1 = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEpAIBAAKCAQEAtg0fMW+E37JAFl07SM9cIke7Q+WszkJ5ykDVkzu87l7ebsJH
        ZZiIWthqXknNwBPmK96l+0jqPJYQE7FAzRlqytSk5moQay6k8VSc5+Cp3kDqMB3U
        VfD3/Q2vffyj/1brOamlNIhBEenJZonE+Gypw4jcRc48+qEnIlv2I6Boxme/sKCf
        4eH8tZfJNMtyeTozdBvB7DEdbbYs+fyrokZ+7PVbmMHaWinHkkDBlpypsJ17tJyT
        d5KjPMjYRuQosjVl5Ruod/NdsOn2HF703x7+BRQNoLGcFP42ZtbKdqoN30BVn/yY
        04mcFajJUimMjr6215epfrpazwtp/j4Z7n7tQwIDAQABAoIBADBXva/H+FXapLAL
        o+GKxuGHgM/f3oqLFoJBwzUsyNfXs2NgDcuJvLO7Akv1d0CJSDbgEd1vmFvsUWqZ
        SCbul/AylXNmOOPtZ/l5yYy9mP4e6NFMKoWDzqaRCsf+3aHBeAdA6FDR2c2i8ktb
        TEXXvSDiZ/PVd1Xqk1TJbMw7HXeJwx3pWwSiIorJnT3Q9mkQOKnLyewZrAW9ELVV
        4jEEonoK5z6FWZPHg/VXZHQzgZQW3HsnOMNIrUGYVNasw9lwuevL4G9eMt3y99EX
        /4umjUL/beHNkCiQ/wANCUxxvJkKTlEzPX4LI4UvEJ45jz0IZluRXzCdja345ck/
        XU+9fkkCgYEA/thHNXsF3/bmbAQQXVHaJBm++o4BSjSi+4gsFAUhBD0Ls+JZMVjq
        pf4+AnmX5Y5oeEYRMQRpbZmJRg2pcEEvyMVLGVVkDbtwj0rNLG5J0+CHSYaZCMr1
        d/Hrs3WH1EjH8qj+ne55uXo2iJJN5iL4kKrfQck4cRA7Eh3WB+eoXmUCgYEAtuBf
        wbidyHFBq3TdcS4LWTZQ5awgfs9wviuYQm3XXH33YBy5PZ6C0PREvTT/Jm64++3w
        OT1JPX0nvAPO33qmCXEbD/or1tGoVI/+mVRWd77GcjUVHnlth3/CVnTuXwc9Rq8+
        Iqbq0ncpnglkJy8/S7rlwotLEcdOy37zKTVTLocCgYEA8B5sifGOiYYjeiciHCuh
        dF5l2cKvaHHMF2Ao1/w1Lb8vJaDiFWMIRLsXRlG3U24o9Rpf3GWhyMjf1QfOXJyv
        H2b16brReTbhScJbK8AHBAIMtrSBwQ0q2IczZHYbM2QYMYYV0kz+mEqU0322tF7D
        AdxeW6fy7GU0o09FeVFHDRkCgYAJPH/ZmudtLjsw27ArfTXZhaLEVtM1VGjPUghY
        oo+T/lC2K/03HYBh6VRncfvJByKUpsnROkUus9mD53VVWC52n53MSshYCzLDQpqL
        R/UuCxaewguVBHEBvPQlxbYcWpM/tK4gtel6Q8Z4UuUaDYrW2lOsZbie50AViw3g
        8O6IlQKBgQDMpGyrbje2muGp/vS7ncN5MVngnN14k39G4Rz3naUimbsMnGuWUo56
        tRv0IkLkSkl3vbFPj1agfsxz95s70jzVhMc6kRAgxS7bHLkjPvZtNhDThhQS04wF
        uFBT6CUWJhfHEZOJUvyqdgoyc6yrwhcfSGnQx/wVobTCBTA32KSb3g==
        -----END RSA PRIVATE KEY-----
        """

    /// The same as `TestKeys.rsaPublic`, in PKCS #1.
    static let rsaPublicPKCS1 = """
        -----BEGIN RSA PUBLIC KEY-----
        MIIBCgKCAQEAtg0fMW+E37JAFl07SM9cIke7Q+WszkJ5ykDVkzu87l7ebsJHZZiI
        WthqXknNwBPmK96l+0jqPJYQE7FAzRlqytSk5moQay6k8VSc5+Cp3kDqMB3UVfD3
        /Q2vffyj/1brOamlNIhBEenJZonE+Gypw4jcRc48+qEnIlv2I6Boxme/sKCf4eH8
        tZfJNMtyeTozdBvB7DEdbbYs+fyrokZ+7PVbmMHaWinHkkDBlpypsJ17tJyTd5Kj
        PMjYRuQosjVl5Ruod/NdsOn2HF703x7+BRQNoLGcFP42ZtbKdqoN30BVn/yY04mc
        FajJUimMjr6215epfrpazwtp/j4Z7n7tQwIDAQAB
        -----END RSA PUBLIC KEY-----
        """

    /// The same as `TestKeys.ecdsa`, in SEC 1.
    static let ecdsaSEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIJgq9STh7wUruZpCrsBUVvfETdDCcNmB0ReFD8w5gF1soAoGCCqGSM49
        AwEHoUQDQgAEaASld8hYaoe89N2bPvS4Xw1YSGF8gnCW9yEHtbueN/TS/8PerUFN
        5El0Nib8OErN2Zsr9rRq2NfbOJ5lEBmfZA==
        -----END EC PRIVATE KEY-----
        """

    /// As `openssl ecparam -genkey` writes one for P-256: its curve, then the key.
    static let ecdsaWithParameters = """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIMHP3k+3tPGXjaPFJkTSI85ryh43GeDtdjQGbcj8TPZioAoGCCqGSM49
        AwEHoUQDQgAEGOWevAlSmLk2o3L/tsmW8DmFGYLyo1Vfwr0zFNJYw6cgzABeEPMy
        x8GM49GPktQSBR/eeXlMULmUE4mc5OvpXA==
        -----END EC PRIVATE KEY-----
        """

    /// `TestKeys.ecdsa`, encrypted as PKCS #8 is.
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgKTDLb9rx0NwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGVfqVbyZnaJYYwBEoz3SjMEgZDu
        FeGOd7QHdt2NyAu2yVdx2wn//xWHYTFd6iHUrd5sidDz0QbR+Tj4epj3YV5kqVEp
        jmLe1B/suIhIAbhDQlWXdZHWxsBYYbhMefVtZp/ErwfawM9KSPxdr3GwfdrrtK0f
        m4Mm5HTgnfaVbiCV2odb9DZsDKDDQcvj5vAR4qYw1N8NNrbw2b3+Zg5yBSXrbD4=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// `TestKeys.ecdsa`, encrypted as SEC 1 is.
    static let encryptedSEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,3861706ACF092BA66B29A2238008A2E0

        lpwj9z2Nht8/tKOnUMKifHcNXYxfWrp3ItL3QMzkoOU3llvZYTxWx/yllMAoydI4
        c7zfIhgVfFXMCvBWYyaVqYk/85aXV01yvjU5K4PjQW+KObm++VJccIZvquf4Z0rV
        lJsmr/BfDiZk9E7pVood6bU0jUHYxGQH0prRWRs6V/k=
        -----END EC PRIVATE KEY-----
        """

    /// A public key on secp256k1, whose numbers have the length of those of P-256.
    static let otherCurve = """
        -----BEGIN PUBLIC KEY-----
        MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAE9R1apxMPHqmIC7zNT+D3KHpla8V3wh1W
        N6p9ao9+rTmcZ/Z84G6Eh9gPBHumeRoKV4GqoReoJKvd0BdKRfp2Pg==
        -----END PUBLIC KEY-----
        """
}
