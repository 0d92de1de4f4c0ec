/// Keys for tests. They protect nothing.
public enum TestKeys {
    /// A private key of 2048 bits, the fewest that are accepted.
    public static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC2DR8xb4TfskAW
        XTtIz1wiR7tD5azOQnnKQNWTO7zuXt5uwkdlmIha2GpeSc3AE+Yr3qX7SOo8lhAT
        sUDNGWrK1KTmahBrLqTxVJzn4KneQOowHdRV8Pf9Da99/KP/Vus5qaU0iEER6clm
        icT4bKnDiNxFzjz6oSciW/YjoGjGZ7+woJ/h4fy1l8k0y3J5OjN0G8HsMR1ttiz5
        /KuiRn7s9VuYwdpaKceSQMGWnKmwnXu0nJN3kqM8yNhG5CiyNWXlG6h3812w6fYc
        XvTfHv4FFA2gsZwU/jZm1sp2qg3fQFWf/JjTiZwVqMlSKYyOvrbXl6l+ulrPC2n+
        Phnufu1DAgMBAAECggEAMFe9r8f4VdqksAuj4YrG4YeAz9/eiosWgkHDNSzI19ez
        Y2ANy4m8s7sCS/V3QIlINuAR3W+YW+xRaplIJu6X8DKVc2Y44+1n+XnJjL2Y/h7o
        0UwqhYPOppEKx/7docF4B0DoUNHZzaLyS1tMRde9IOJn89V3VeqTVMlszDsdd4nD
        HelbBKIiismdPdD2aRA4qcvJ7BmsBb0QtVXiMQSiegrnPoVZk8eD9VdkdDOBlBbc
        eyc4w0itQZhU1qzD2XC568vgb14y3fL30Rf/i6aNQv9t4c2QKJD/AA0JTHG8mQpO
        UTM9fgsjhS8QnjmPPQhmW5FfMJ2NrfjlyT9dT71+SQKBgQD+2Ec1ewXf9uZsBBBd
        UdokGb76jgFKNKL7iCwUBSEEPQuz4lkxWOql/j4CeZfljmh4RhExBGltmYlGDalw
        QS/IxUsZVWQNu3CPSs0sbknT4IdJhpkIyvV38euzdYfUSMfyqP6d7nm5ejaIkk3m
        IviQqt9ByThxEDsSHdYH56heZQKBgQC24F/BuJ3IcUGrdN1xLgtZNlDlrCB+z3C+
        K5hCbddcffdgHLk9noLQ9ES9NP8mbrj77fA5PUk9fSe8A87feqYJcRsP+ivW0ahU
        j/6ZVFZ3vsZyNRUeeW2Hf8JWdO5fBz1Grz4ipurSdymeCWQnLz9LuuXCi0sRx07L
        fvMpNVMuhwKBgQDwHmyJ8Y6JhiN6JyIcK6F0XmXZwq9occwXYCjX/DUtvy8loOIV
        YwhEuxdGUbdTbij1Gl/cZaHIyN/VB85cnK8fZvXputF5NuFJwlsrwAcEAgy2tIHB
        DSrYhzNkdhszZBgxhhXSTP6YSpTTfba0XsMB3F5bp/LsZTSjT0V5UUcNGQKBgAk8
        f9ma520uOzDbsCt9NdmFosRW0zVUaM9SCFiij5P+ULYr/TcdgGHpVGdx+8kHIpSm
        ydE6RS6z2YPndVVYLnafncxKyFgLMsNCmotH9S4LFp7CC5UEcQG89CXFthxakz+0
        riC16XpDxnhS5RoNitbaU6xluJ7nQBWLDeDw7oiVAoGBAMykbKtuN7aa4an+9Lud
        w3kxWeCc3XiTf0bhHPedpSKZuwyca5ZSjnq1G/QiQuRKSXe9sU+PVqB+zHP3mzvS
        PNWExzqRECDFLtscuSM+9m02ENOGFBLTjAW4UFPoJRYmF8cRk4lS/Kp2CjJzrKvC
        Fx9IadDH/BWhtMIFMDfYpJve
        -----END PRIVATE KEY-----
        """

    /// A public key of 1024 bits.
    public static let weakPublicRSA = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDDzP6nVQN477Z28rH7//HUQ9FS
        JP6xijUhnjxTj70IttpyC4sVJP9FQ7H56sae/FqYVSHzMjm7fOniLT6ItSYfSZqt
        8Ok3IEKobAacWHzOcXOYqtkaYSO833s3pNqlaVFOxlvy10mGSBnTPE35YNhhuZ3Y
        pna5b8w27+sKGYPzPQIDAQAB
        -----END PUBLIC KEY-----
        """

    /// A private key for ES256.
    public static let ecdsa = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmCr1JOHvBSu5mkKu
        wFRW98RN0MJw2YHRF4UPzDmAXWyhRANCAARoBKV3yFhqh7z03Zs+9LhfDVhIYXyC
        cJb3IQe1u5439NL/w96tQU3kSXQ2Jvw4Ss3Zmyv2tGrY19s4nmUQGZ9k
        -----END PRIVATE KEY-----

        """

    /// The public half of `rsa`.
    public static let rsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtg0fMW+E37JAFl07SM9c
        Ike7Q+WszkJ5ykDVkzu87l7ebsJHZZiIWthqXknNwBPmK96l+0jqPJYQE7FAzRlq
        ytSk5moQay6k8VSc5+Cp3kDqMB3UVfD3/Q2vffyj/1brOamlNIhBEenJZonE+Gyp
        w4jcRc48+qEnIlv2I6Boxme/sKCf4eH8tZfJNMtyeTozdBvB7DEdbbYs+fyrokZ+
        7PVbmMHaWinHkkDBlpypsJ17tJyTd5KjPMjYRuQosjVl5Ruod/NdsOn2HF703x7+
        BRQNoLGcFP42ZtbKdqoN30BVn/yY04mcFajJUimMjr6215epfrpazwtp/j4Z7n7t
        QwIDAQAB
        -----END PUBLIC KEY-----
        """

    /// The public half of `rsa` in a certificate, as Firebase publishes keys. It expired on November 17, 2025.
    public static let rsaCertificate = """
        -----BEGIN CERTIFICATE-----
        MIIC1jCCAb4CAQEwDQYJKoZIhvcNAQELBQAwMTEvMC0GA1UEAwwmc2VjdXJldG9r
        ZW4uc3lzdGVtLmdzZXJ2aWNlYWNjb3VudC5jb20wHhcNMjUxMTAxMDAwMDAwWhcN
        MjUxMTE3MDAwMDAwWjAxMS8wLQYDVQQDDCZzZWN1cmV0b2tlbi5zeXN0ZW0uZ3Nl
        cnZpY2VhY2NvdW50LmNvbTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEB
        ALYNHzFvhN+yQBZdO0jPXCJHu0PlrM5CecpA1ZM7vO5e3m7CR2WYiFrYal5JzcAT
        5ivepftI6jyWEBOxQM0ZasrUpOZqEGsupPFUnOfgqd5A6jAd1FXw9/0Nr338o/9W
        6zmppTSIQRHpyWaJxPhsqcOI3EXOPPqhJyJb9iOgaMZnv7Cgn+Hh/LWXyTTLcnk6
        M3QbwewxHW22LPn8q6JGfuz1W5jB2lopx5JAwZacqbCde7Sck3eSozzI2EbkKLI1
        ZeUbqHfzXbDp9hxe9N8e/gUUDaCxnBT+NmbWynaqDd9AVZ/8mNOJnBWoyVIpjI6+
        tteXqX66Ws8Laf4+Ge5+7UMCAwEAATANBgkqhkiG9w0BAQsFAAOCAQEAbO/Wovbb
        +JvMUnmWLAi/dawc5EEXzIBe2W/yp/dA71s2fkOwAgjhQTv5gYDCvur3BBaYUH1A
        s2CCECV39un7Yk1tW0Jj+nNivzGpgK9k7L5NOtCuZGUkXXVYZ7FFHpi15U1YqKlg
        Ua+nkmXYbmn6p3vvtqOpNrW04n/m3ahHN+v0VNiSFnb9MBhjflk/T+Eup8ke/Qkg
        ODyj1fW1JN4myckSjPaI1KbiXdLGjyeucVxbye+RJ5uj8qmjSgAcun37qnXry3+c
        Jg0KhyIDP2+GZT0rVmdBFJlSlR5ns1CrVCU89IkPB8PXu4FQVrKaVwWtSIt6O652
        TutYADbIi7B7Og==
        -----END CERTIFICATE-----
        """

    /// The public half of `ecdsa`.
    public static let ecdsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaASld8hYaoe89N2bPvS4Xw1YSGF8
        gnCW9yEHtbueN/TS/8PerUFN5El0Nib8OErN2Zsr9rRq2NfbOJ5lEBmfZA==
        -----END PUBLIC KEY-----
        """

    /// A private key for ES384.
    public static let ecdsa384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBvjX2k1BKvt5gplFnz
        8AgdDE93FYWuo/4i5nQ4exPX6asVcCYnnXRTS/tzGJ5YG7WhZANiAARfuZwuIaio
        quT3LDlIlgG5TOcVLV1yMYoapF5colW9dTt1LoFe2DGZy8LG9zjTQdekosCpkqwp
        q37tlT2rMkoF+YoaMgv+PNp5i1aaAcvCWA0otuUbOVWHpXEHjPbM6vk=
        -----END PRIVATE KEY-----
        """

    /// Its public half.
    public static let ecdsa384Public = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEX7mcLiGoqKrk9yw5SJYBuUznFS1dcjGK
        GqReXKJVvXU7dS6BXtgxmcvCxvc400HXpKLAqZKsKat+7ZU9qzJKBfmKGjIL/jza
        eYtWmgHLwlgNKLblGzlVh6VxB4z2zOr5
        -----END PUBLIC KEY-----
        """

    /// A private key for EdDSA.
    public static let eddsa = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIKTePSXKCL3031N27EBcvDhub7r/HRI0HY9duWG6TVnM
        -----END PRIVATE KEY-----
        """

    /// The public half of `eddsa`.
    public static let eddsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAnQMhiKfxq8XTHIFFy0lti5SP0dNpH3QpJ+X31R0GtDc=
        -----END PUBLIC KEY-----
        """
}
